/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The efficiencies of POP (pop-coe.eu): load balance x communication = parallel. Useful time of a
 * rank is its CPU time outside of MPI: CPU time x (1 - its share of samples in MPI). Without
 * samples it is all CPU time, which is right where ranks block while they wait, and says nothing
 * where they spin. The time of a rank is that in which it ran or was blocked: waits for a CPU are
 * not the program's.
 */
#include <math.h>
#include <string.h>

#include "analysis/job/facts_fill.h"

#define BUSY	     0.8 /* ranks that all run that long may spin, but for their start */
#define MANY_THREADS 1.1 /* CPU time of a rank by its time: it computes with several threads */
#define FEW_SAMPLES  100 /* of a rank: its share in MPI is 5 % off, and more */

/* The sums over ranks, in a bin or in all. */
struct pop {
	double sum, max;    /* of useful time */
	double time, least; /* the longest time of a rank; the least share of it on a CPU */
	double threads;	    /* the most CPU time by time */
	double samples;	    /* of the rank with fewest */
	unsigned n;
};

struct rank_use {
	double span, cpu, wait, samples, in_mpi;
};

static double useful_s(const struct rank_use *r)
{
	if (isnan(r->samples))
		return r->cpu;
	return r->samples > 0 ? r->cpu * (1 - r->in_mpi / r->samples) : r->cpu > 0 ? NAN : 0;
}

static void add_rank(struct pop *p, const struct rank_use *r)
{
	double useful = useful_s(r), time = r->span - (isnan(r->wait) ? 0 : r->wait);

	if (isnan(useful) || !(time > 0))
		return;
	time = fmax(time, useful);
	p->sum += useful;
	p->max = fmax(p->max, useful);
	p->time = fmax(p->time, time);
	p->threads = fmax(p->threads, r->cpu / time);
	p->least = fmin(p->n ? p->least : 1, r->cpu / time);
	p->samples = p->n ? fmin(p->samples, r->samples) : r->samples;
	p->n++;
}

static bool is_suitable(const struct pop *p, bool sampled)
{
	return p->n >= 2 && p->max > 0 && (sampled ? p->samples >= FEW_SAMPLES : p->least < BUSY);
}

static void put(const struct pop *p, double *lb, double *comm, double *pe)
{
	*lb = p->sum / p->n / p->max;
	if (p->threads > MANY_THREADS)
		return;
	*comm = p->max / p->time;
	*pe = p->sum / p->n / p->time;
}

static double bin_of(const struct job_unit *u, enum quantity q, const struct time_grid *g,
		     unsigned k)
{
	const double *bins = job_unit__bins(u, q, g);

	return bins ? bins[k] : NAN;
}

static void fill_bin(struct facts *f, const struct model_job *j, const struct job_unit *ranks,
		     unsigned n, bool sampled, unsigned k)
{
	const struct time_grid *g = &j->grid;
	double from = k * g->dt_s, to = from + time_grid__span_s(g, k);
	struct pop p = {};

	for (unsigned i = 0; i < n; i++) {
		const struct job_unit *u = &ranks[i];
		struct rank_use r = {fmin(to, u->end_s) - fmax(from, u->begin_s),
				     bin_of(u, Q_CPU, g, k), bin_of(u, Q_WAIT, g, k),
				     bin_of(u, Q_SAMPLES, g, k),
				     bin_of(u, Q_SAMPLED_FOR_MPI, g, k)};

		add_rank(&p, &r);
	}
	if (p.n == n && is_suitable(&p, sampled))
		put(&p, &f->values[FACT_BIN_load_balance][k],
		    &f->values[FACT_BIN_communication_efficiency][k],
		    &f->values[FACT_BIN_parallel_efficiency][k]);
}

static int miss(struct facts *f, const char *why)
{
	static const enum fact of_job[] = {FACT_JOB_load_balance, FACT_JOB_communication_efficiency,
					   FACT_JOB_parallel_efficiency};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(of_job) / sizeof(*of_job); i++)
		if (isnan(*f->values[of_job[i]]))
			err = facts__miss(f, of_job[i], why);
	return err;
}

static const char *unsuitable(const struct facts *f, const struct pop *p, bool sampled)
{
	if (!(facts__job(f, FACT_JOB_has_mpi) == 1))
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

int facts_pop__fill(struct facts *f, const struct model_job *j)
{
	unsigned n;
	const struct job_unit *ranks = facts__main_tasks(j, &n);
	bool sampled = !isnan(facts__job(f, FACT_JOB_samples));
	struct pop p = {};
	const char *why;

	for (unsigned i = 0; i < n; i++) {
		const double *t = ranks[i].total;
		struct rank_use r = {ranks[i].end_s - ranks[i].begin_s, t[Q_CPU], t[Q_WAIT],
				     t[Q_SAMPLES], t[Q_SAMPLED_FOR_MPI]};

		f->values[FACT_TASK_useful_s][i] = useful_s(&r);
		add_rank(&p, &r);
	}
	why = unsuitable(f, &p, sampled);
	if (why)
		return miss(f, why);
	put(&p, f->values[FACT_JOB_load_balance], f->values[FACT_JOB_communication_efficiency],
	    f->values[FACT_JOB_parallel_efficiency]);
	*f->values[FACT_JOB_pop_samples] = p.samples;
	for (unsigned k = 0; k < j->grid.n; k++)
		fill_bin(f, j, ranks, n, sampled, k);
	return miss(f, "UNSUITABLE: ranks compute with several threads");
}
