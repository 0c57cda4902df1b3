// SPDX-License-Identifier: GPL-2.0-only
/* One interval: checks the input, and splits packages, DRAM and GPUs among the consumers. */
#include "energy/energy.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "energy/energy_internal.h"

/* Whether a value cannot be true. NAN can: not measured. */
static bool wrong(double x)
{
	return x < 0 || isinf(x);
}

static bool wrong_or_unknown(double x)
{
	return !(x >= 0) || isinf(x);
}

static bool wrong_use(const struct energy_use *u)
{
	return wrong_or_unknown(u->run_s) || wrong(u->overlap_s) || wrong(u->cycles) ||
	       wrong(u->misses) || wrong(u->alloc_cores);
}

static bool wrong_package(const struct energy_package *p)
{
	return !p->cores || wrong(p->pkg) || wrong(p->dram) || wrong(p->pkg_idle_w) ||
	       wrong(p->dram_idle_w) || wrong(p->pmin_w) || wrong(p->pmax_w);
}

static int check_input(const struct energy_input *in)
{
	bool any = !isnan(in->node) || in->gpu_unowned > 0;

	if (!(in->seconds > 0) || isinf(in->seconds) || !in->npackages || wrong(in->node) ||
	    wrong(in->other_idle_w) || !(in->node_error >= 0 && in->node_error < 1) ||
	    wrong_or_unknown(in->node_off) || !(in->pkg_error >= 0 && in->pkg_error < 1) ||
	    !(in->gpu_error >= 0 && in->gpu_error < 1) || wrong_or_unknown(in->pkg_step) ||
	    wrong_or_unknown(in->idle_error) || wrong_or_unknown(in->pkg_edge_s) ||
	    wrong_or_unknown(in->gpu_unowned))
		return -EINVAL;
	for (unsigned i = 0; i < in->npackages; i++) {
		if (wrong_package(&in->package[i]) || wrong_use(&in->system[i]))
			return -EINVAL;
		any = any || !isnan(in->package[i].pkg) || !isnan(in->package[i].dram);
	}
	for (size_t i = 0; i < (size_t)in->nsteps * in->npackages; i++)
		if (wrong_use(&in->use[i]))
			return -EINVAL;
	for (unsigned i = 0; in->gpu && i < in->nsteps; i++) {
		if (wrong(in->gpu[i]))
			return -EINVAL;
		any = any || !isnan(in->gpu[i]);
	}
	return any ? 0 : -ENODATA;
}

static void add_fixed(struct energy_work *w, double joules)
{
	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];

		t->fixed += joules * t->share;
		t->low += joules * t->share_low;
		t->high += joules * t->share_high;
		t->total += joules * t->share;
	}
}

/* Divides joules by the weights in p. held: an unknown part of them may be what cores take when
 * idle. */
static void add_dynamic(struct energy_work *w, double joules, const struct portion_range *range,
			bool held)
{
	double left = portion__split(w->p, w->n, joules, range);

	w->p[w->in->nsteps].point += left;
	w->p[w->in->nsteps].low += left;
	w->p[w->in->nsteps].high += left;
	for (unsigned i = 0; i < w->n; i++) {
		struct consumer *t = &w->t[i];
		struct portion *p = &w->p[i];

		if (held) {
			p->low = fmin(p->low, joules * t->share_low);
			p->high = fmax(p->high, joules * t->share_high);
		}
		t->dynamic += p->point;
		t->low += p->low;
		t->high += p->high;
		t->act += p->point;
		t->act_low += p->low;
		t->act_high += p->high;
		t->total += p->point;
	}
	if (held)
		w->t[w->n].high += joules * w->t[w->n].share_high;
}

/* A package or its DRAM, with the weights that are in p. */
static void split_part(struct energy_work *w, double joules, double idle_w,
		       const struct portion_range *range)
{
	double fixed = isnan(idle_w) ? 0 : fmin(idle_w * w->in->seconds, joules);

	for (unsigned i = 0; i <= w->n; i++)
		w->t[i].total = 0;
	add_fixed(w, fixed);
	add_dynamic(w, joules - fixed, range, isnan(idle_w));
	w->part[w->nparts] = (struct part){joules, fixed};
	for (unsigned i = 0; i <= w->n; i++)
		w->of[(size_t)w->nparts * (w->n + 1) + i] = w->t[i].total;
	w->nparts++;
	w->parts += joules;
	w->parts_idle += fixed;
	w->measured = true;
}

static void split_package(struct energy_work *w, unsigned package)
{
	const struct energy_package *pk = &w->in->package[package];
	struct portion_range range = energy__weigh(w, package);
	bool misses;

	energy__shares(w, package);
	for (unsigned i = 0; i < w->n; i++)
		w->t[i].weight += w->p[i].weight;
	if (!isnan(pk->pkg)) {
		w->out->static_known = w->out->static_known && !isnan(pk->pkg_idle_w);
		split_part(w, pk->pkg, pk->pkg_idle_w, &range);
	}
	misses = energy__weigh_misses(w, package);
	for (unsigned i = 0; misses && i < w->n; i++)
		w->t[i].misses += w->p[i].weight;
	w->misses_known = w->misses_known || misses;
	if (isnan(pk->dram))
		return;
	w->dram_known = true;
	range = (struct portion_range){misses ? ENERGY_RATIO_MISS : INFINITY, NAN, NAN};
	if (!misses)
		energy__weigh(w, package);
	split_part(w, pk->dram, pk->dram_idle_w, &range);
}

static void give_gpus(struct energy_work *w)
{
	const struct energy_input *in = w->in;

	for (unsigned i = 0; i <= w->n; i++) {
		struct consumer *t = &w->t[i];
		double joules = 0;

		if (i == w->n)
			joules = in->gpu_unowned;
		else if (i < in->nsteps && in->gpu && !isnan(in->gpu[i]))
			joules = in->gpu[i];
		t->gpu = joules;
		t->dynamic += joules;
		t->low += joules;
		t->high += joules;
		t->act += joules;
		t->act_low += joules;
		t->act_high += joules;
		w->gpu += joules;
	}
}

int energy__split(const struct energy_input *in, struct energy_split *out)
{
	struct energy_work w = {.in = in, .out = out, .n = in->nsteps + 1};
	_cleanup_free_ struct consumer *t = NULL;
	_cleanup_free_ struct portion *p = NULL;
	_cleanup_free_ struct part *part = NULL;
	_cleanup_free_ double *of = NULL;
	int err = check_input(in);

	if (err)
		return err;
	t = calloc(w.n + 1, sizeof(*t));
	p = calloc(w.n, sizeof(*p));
	part = calloc(in->npackages, 2 * sizeof(*part));
	of = calloc((size_t)in->npackages * (w.n + 1), 2 * sizeof(*of));
	if (!t || !p || !part || !of)
		return -ENOMEM;
	w.t = t;
	w.p = p;
	w.part = part;
	w.of = of;
	w.clock = energy__mean_clock(in);
	*out = (struct energy_split){.step = out->step,
				     .weight = WEIGHT_CYCLES,
				     .static_known = true,
				     .alloc_known = true,
				     .node_known = !isnan(in->node)};
	for (unsigned i = 0; i < in->npackages; i++)
		split_package(&w, i);
	give_gpus(&w);
	energy__split_other(&w);
	energy__finish(&w);
	assert(fabs(out->system + out->unallocated + w.steps - out->measured) <=
	       1e-9 * out->measured);
	return 0;
}
