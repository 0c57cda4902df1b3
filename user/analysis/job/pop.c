/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The efficiencies of ranks, from what each of them did. */
#include <math.h>

#include "analysis/job/pop.h"

#define BUSY	     0.8 /* ranks that all run that long may spin, but for their start */
#define MANY_THREADS 1.1 /* CPU time of a rank by its time: it computes with several threads */
#define FEW_SAMPLES  100 /* of a rank: its share in MPI is 5 % off, and more */

/* The sums over ranks, in a bin or in all. */
struct pop_sums {
	double sum, max; /* of useful time */
	double time;	 /* of the rank with most useful time, but for what it had no CPU */
	double elapsed;	 /* the longest of a rank */
	double least;	 /* the least share of a rank's time on a CPU */
	double threads;	 /* the most CPU time by time */
	double samples;	 /* of the rank with fewest */
	unsigned n;
};

struct rank_use {
	double span, cpu, wait, own; /* own: of the waits, while its own threads had the CPU */
	double samples, in_mpi;
};

static double useful_s(const struct rank_use *r)
{
	if (isnan(r->samples))
		return r->cpu;
	return r->samples > 0 ? r->cpu * (1 - r->in_mpi / r->samples) : r->cpu > 0 ? NAN : 0;
}

/* How long the rank had no CPU although it had work. */
static double without_cpu(const struct rank_use *r)
{
	double wait = fmax(0, r->wait), at_once = (r->cpu + wait) / r->span;

	return fmax(0, wait - fmax(0, r->own)) / fmax(1, at_once);
}

static void add_rank(struct pop_sums *p, const struct rank_use *r)
{
	double useful = useful_s(r), time;

	if (isnan(useful) || !(r->span > 0))
		return;
	time = r->span - without_cpu(r);
	p->sum += useful;
	if (!p->n || useful > p->max)
		p->time = time;
	p->max = fmax(p->max, useful);
	p->elapsed = fmax(p->elapsed, r->span);
	p->threads = fmax(p->threads, r->cpu / time);
	p->least = fmin(p->n ? p->least : 1, r->cpu / time);
	p->samples = p->n ? fmin(p->samples, r->samples) : r->samples;
	p->n++;
}

static bool is_suitable(const struct pop_sums *p, bool sampled)
{
	return p->n >= 2 && p->max > 0 && (sampled ? p->samples >= FEW_SAMPLES : p->least < BUSY);
}

static void put_sums(struct pop *to, const struct pop_sums *p)
{
	to->load_balance = p->sum / p->n / p->max;
	to->samples = p->samples;
	if (p->threads > MANY_THREADS)
		return;
	to->communication = fmin(1, p->max / p->time);
	to->parallel = p->sum / p->n / p->elapsed;
	to->with_cpu = to->parallel / (to->load_balance * to->communication);
}

static bool are_sampled(const struct job_unit *ranks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!isnan(ranks[i].total[Q_SAMPLES]))
			return true;
	return false;
}

static bool have_mpi(const struct job_unit *ranks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ranks[i].about.texts[ABOUT_PROGRAM] && ranks[i].about.texts[ABOUT_MPI])
			return true;
	return false;
}

static const char *unsuitable(const struct pop_sums *p, bool has_mpi, bool sampled)
{
	if (!has_mpi)
		return "UNSUITABLE: no task is known to have an MPI library mapped";
	if (p->n < 2)
		return "UNSUITABLE: there are no two ranks";
	if (is_suitable(p, sampled))
		return NULL;
	if (sampled)
		return "UNSUITABLE: a rank has fewer than 100 samples";
	return "UNSUITABLE: all ranks run nearly all the time, and may wait by spinning; the "
	       "family "
	       "sample sees that";
}

/* Its waits while its own threads had the CPU; a task's are those of all ranks in it. */
static double own_wait(const struct job_unit *u)
{
	return u->total[u->is_rank ? Q_BY_OWN_RANK : Q_BY_OWN_TASK];
}

static struct rank_use use_of(const struct job_unit *u)
{
	const double *t = u->total;

	return (struct rank_use){u->end_s - u->begin_s, t[Q_CPU],     t[Q_WAIT],
				 own_wait(u),		t[Q_SAMPLES], t[Q_SAMPLED_FOR_MPI]};
}

double pop__useful_s(const struct job_unit *rank)
{
	struct rank_use r = use_of(rank);

	return useful_s(&r);
}

static const struct pop not_known = {NAN, NAN, NAN, NAN, NAN, NULL};

struct pop pop__of(const struct job_unit *ranks, unsigned n)
{
	struct pop pop = not_known;
	struct pop_sums p = {};
	bool sampled = are_sampled(ranks, n);

	for (unsigned i = 0; i < n; i++) {
		struct rank_use r = use_of(&ranks[i]);

		add_rank(&p, &r);
	}
	pop.why = unsuitable(&p, have_mpi(ranks, n), sampled);
	if (pop.why)
		return pop;
	put_sums(&pop, &p);
	if (isnan(pop.parallel))
		pop.why = "UNSUITABLE: ranks compute with several threads";
	return pop;
}

static double bin_of(const struct job_unit *u, enum quantity q, const struct time_grid *g,
		     unsigned k)
{
	const double *bins = job_unit__bins(u, q, g);

	return bins ? bins[k] : NAN;
}

/* Bins of it are not kept: the rank's waits of any time are as those of all its time. */
static double own_in(const struct job_unit *u, double wait)
{
	return u->total[Q_WAIT] > 0 ? wait * own_wait(u) / u->total[Q_WAIT] : NAN;
}

struct pop pop__of_bin(const struct job_unit *ranks, unsigned n, const struct time_grid *g,
		       unsigned k)
{
	double from = k * g->dt_s, to = from + time_grid__span_s(g, k);
	struct pop pop = not_known;
	struct pop_sums p = {};

	for (unsigned i = 0; i < n; i++) {
		const struct job_unit *u = &ranks[i];
		struct rank_use r = {fmin(to, u->end_s) - fmax(from, u->begin_s),
				     bin_of(u, Q_CPU, g, k),
				     bin_of(u, Q_WAIT, g, k),
				     own_in(u, bin_of(u, Q_WAIT, g, k)),
				     bin_of(u, Q_SAMPLES, g, k),
				     bin_of(u, Q_SAMPLED_FOR_MPI, g, k)};

		add_rank(&p, &r);
	}
	if (p.n == n && is_suitable(&p, are_sampled(ranks, n)))
		put_sums(&pop, &p);
	return pop;
}
