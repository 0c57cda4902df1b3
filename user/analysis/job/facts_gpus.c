/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of GPUs: how much and when they were used. */
#include <math.h>

#include "analysis/job/facts_fill.h"

/* Time with utilization 0: in all, from the start, and the longest. */
struct idleness {
	double all_s, first_s, longest_s;
};

static struct idleness idleness_of(const double *util, const struct time_grid *g)
{
	struct idleness idle = {0};
	double now = 0;
	bool begun = false;

	for (unsigned k = 0; k < g->n; k++) {
		double s = time_grid__span_s(g, k);

		if (isnan(util[k]))
			continue;
		begun |= util[k] > 0;
		now = util[k] > 0 ? 0 : now + s;
		idle.all_s += util[k] > 0 ? 0 : s;
		idle.first_s = begun ? idle.first_s : now;
		idle.longest_s = fmax(idle.longest_s, now);
	}
	return idle;
}

static double mean_of(const double *v, unsigned n)
{
	double sum = 0, known = 0;

	for (unsigned k = 0; k < n; k++)
		if (!isnan(v[k])) {
			sum += v[k];
			known++;
		}
	return known ? sum / known : NAN;
}

/* Share of the bins with use in which heat or the hardware held the GPU back. */
static double throttled_of(const double *util, const double *throttled, unsigned n)
{
	double held = 0, busy = 0;

	for (unsigned k = 0; k < n; k++)
		if (util[k] > 0 && !isnan(throttled[k])) {
			held += throttled[k];
			busy++;
		}
	return busy ? held / busy : NAN;
}

static void fill_gpu(struct facts *f, const struct model_job *j, unsigned i)
{
	const struct job_unit *u = &j->gpus[i];
	const double *util = job_unit__bins(u, Q_GPU_UTIL, &j->grid);
	struct idleness idle = idleness_of(util, &j->grid);

	f->values[FACT_GPU_node][i] = u->node + 1;
	f->values[FACT_GPU_mem_peak_mb][i] = u->total[Q_GPU_MEM];
	f->values[FACT_GPU_is_split][i] = u->total[Q_GPU_SPLIT];
	if (isnan(u->total[Q_GPU_UTIL]))
		return;
	f->values[FACT_GPU_util][i] = mean_of(util, j->grid.n);
	f->values[FACT_GPU_throttled][i] =
		throttled_of(util, job_unit__bins(u, Q_GPU_THROTTLE, &j->grid), j->grid.n);
	f->values[FACT_GPU_idle_s][i] = idle.all_s;
	f->values[FACT_GPU_idle_from_start_s][i] = idle.first_s;
	f->values[FACT_GPU_idle_longest_s][i] = idle.longest_s;
}

int facts_gpus__fill(struct facts *f, const struct model_job *j)
{
	for (unsigned i = 0; i < j->ngpus; i++)
		fill_gpu(f, j, i);
	for (unsigned k = 0; k < j->grid.n; k++) {
		double sum = 0, known = 0;

		for (unsigned i = 0; i < j->ngpus; i++) {
			double v = job_unit__bins(&j->gpus[i], Q_GPU_UTIL, &j->grid)[k];

			sum += isnan(v) ? 0 : v;
			known += !isnan(v);
		}
		if (known)
			f->values[FACT_BIN_gpu][k] = sum / known;
		else if (facts__job(f, FACT_JOB_gpus) == 0)
			f->values[FACT_BIN_gpu][k] = 0;
	}
	return 0;
}
