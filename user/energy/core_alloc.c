// SPDX-License-Identifier: GPL-2.0-or-later
/* Cores held by each step, counted by hardware threads. */
#include "energy/core_alloc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* The hardware threads of one core that a step has, as one bit each. */
#define THREADS 16

struct core_alloc_work {
	const struct core_alloc_topology *topo;
	const struct core_alloc_step *steps;
	unsigned nsteps;
	uint16_t *held;	   /* [nsteps][ncores] */
	uint8_t *thread;   /* [ncpus]: which of its core a CPU is */
	uint16_t *package; /* [ncores] */
};

static bool has_bit(const uint64_t *bits, unsigned n)
{
	return bits[n / 64] >> (n % 64) & 1;
}

static int read_topology(struct core_alloc_work *w, uint8_t *threads)
{
	for (unsigned i = 0; i < w->topo->ncpus; i++) {
		const struct core_alloc_cpu *c = &w->topo->cpu[i];

		if (!c->there)
			continue;
		if (c->core >= w->topo->ncores || c->package >= w->topo->npackages ||
		    threads[c->core] == THREADS)
			return -EINVAL;
		w->thread[i] = threads[c->core]++;
		w->package[c->core] = c->package;
	}
	return 0;
}

static void read_held(struct core_alloc_work *w, unsigned step)
{
	const struct core_alloc_step *s = &w->steps[step];
	uint16_t *held = &w->held[(size_t)step * w->topo->ncores];

	for (unsigned i = 0; s->held && i < w->topo->ncpus; i++) {
		const struct core_alloc_cpu *c = &w->topo->cpu[i];

		if (c->there && has_bit(s->held, s->by_core ? c->core : i))
			held[c->core] |= 1U << w->thread[i];
	}
}

static uint16_t held_by(const struct core_alloc_work *w, unsigned step, unsigned core)
{
	return w->held[(size_t)step * w->topo->ncores + core];
}

/* How many threads of a core the step's job holds; *sharers: how many of the job's steps share
 * them. */
static unsigned of_job(const struct core_alloc_work *w, unsigned core, unsigned step,
		       unsigned *sharers)
{
	unsigned threads = 0, ordinary = 0, support = 0;

	for (unsigned i = 0; i < w->nsteps; i++) {
		uint16_t held = held_by(w, i, core);

		if (!held || w->steps[i].job != w->steps[step].job)
			continue;
		threads |= held;
		if (w->steps[i].support)
			support++;
		else
			ordinary++;
	}
	*sharers = ordinary && w->steps[step].support ? 0 : ordinary ? ordinary : support;
	return (unsigned)__builtin_popcount(threads);
}

/* Threads of the core that are held; one that several jobs hold counts for each. */
static unsigned of_all(const struct core_alloc_work *w, unsigned core)
{
	unsigned all = 0, sharers;

	for (unsigned i = 0; i < w->nsteps; i++) {
		bool first = held_by(w, i, core);

		for (unsigned j = 0; first && j < i; j++)
			first = !held_by(w, j, core) || w->steps[j].job != w->steps[i].job;
		if (first)
			all += of_job(w, core, i, &sharers);
	}
	return all;
}

static void share_core(const struct core_alloc_work *w, unsigned core, double *out)
{
	unsigned all = of_all(w, core), sharers, threads;

	for (unsigned i = 0; i < w->nsteps; i++) {
		if (!held_by(w, i, core))
			continue;
		threads = of_job(w, core, i, &sharers);
		if (sharers)
			out[(size_t)i * w->topo->npackages + w->package[core]] +=
				(double)threads / all / sharers;
	}
}

int core_alloc__count(const struct core_alloc_topology *topo, const struct core_alloc_step *steps,
		      unsigned nsteps, double *out)
{
	_cleanup_free_ uint16_t *held = NULL;
	_cleanup_free_ uint16_t *package = NULL;
	_cleanup_free_ uint8_t *thread = NULL;
	_cleanup_free_ uint8_t *threads = NULL;
	struct core_alloc_work w = {.topo = topo, .steps = steps, .nsteps = nsteps};
	int err;

	/* one more of each, so that an empty list is no error */
	w.held = held = calloc((size_t)nsteps * topo->ncores + 1, sizeof(*held));
	w.package = package = calloc(topo->ncores + 1, sizeof(*package));
	w.thread = thread = calloc(topo->ncpus + 1, sizeof(*thread));
	threads = calloc(topo->ncores + 1, sizeof(*threads));
	if (!held || !package || !thread || !threads)
		return -ENOMEM;
	err = read_topology(&w, threads);
	if (err)
		return err;
	for (unsigned i = 0; i < nsteps; i++) {
		for (unsigned p = 0; p < topo->npackages; p++)
			out[(size_t)i * topo->npackages + p] = steps[i].held ? 0 : NAN;
		read_held(&w, i);
	}
	for (unsigned core = 0; core < topo->ncores; core++)
		share_core(&w, core, out);
	return 0;
}
