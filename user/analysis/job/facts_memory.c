/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of memory: peaks, limits, and whether it grows without end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "analysis/pika/pika.h"
#include "base/known.h"

#define MB 1048576.0

enum quantity facts__own_memory(const struct model_job *j)
{
	if (!isnan(facts__sum(j, Q_CHARGED_OWN)))
		return Q_CHARGED_OWN;
	return isnan(facts__sum(j, Q_OWN)) ? Q_RSS : Q_OWN;
}

/* The line through n points, and half the width of the 95 % interval of its slope. */
static double slope_error(const double *t, const double *v, size_t n, double slope)
{
	double tm = 0, vm = 0, tt = 0, rest = 0;

	for (size_t i = 0; i < n; i++) {
		tm += t[i] / n;
		vm += v[i] / n;
	}
	for (size_t i = 0; i < n; i++)
		tt += (t[i] - tm) * (t[i] - tm);
	for (size_t i = 0; i < n; i++) {
		double r = v[i] - vm - slope * (t[i] - tm);

		rest += r * r;
	}
	return n > 2 && tt > 0 ? 1.96 * sqrt(rest / (n - 2) / tt) : NAN;
}

/* How many points lie before the end, at which the processes go and their memory with them: that
 * is in the last bin or, of rows as long as bins, in the last two. */
static size_t before_end(const double *v, size_t n)
{
	size_t most = n;

	while (n > 2 && n + 2 > most && v[n - 1] < 0.9 * v[n - 2])
		n--;
	return n;
}

/* Looks for a leak on the fullest node: the points are the means of its bins, from a fifth of the
 * time on. */
static int fill_leak(struct facts *f, const struct model_job *j, const struct job_node *node,
		     enum quantity own)
{
	const double *bins = job_unit__bins(&node->unit, own, &j->grid);
	double *t = calloc(2 * (size_t)j->grid.n + 2, sizeof(*t)), *v, error;
	struct memleak leak;
	size_t n = 0;

	if (!t)
		return -ENOMEM;
	v = t + j->grid.n + 1;
	for (unsigned k = j->grid.n / 5; bins && k < j->grid.n; k++)
		if (!isnan(bins[k])) {
			t[n] = k * j->grid.dt_s + time_grid__span_s(&j->grid, k) / 2;
			v[n++] = bins[k] * MB;
		}
	n = before_end(v, n);
	memleak__of(t, v, n, &leak);
	*f->values[FACT_JOB_leak_m] = leak.is_suspected ? leak.m : NAN;
	if (leak.is_suspected) {
		error = slope_error(t, v, n, leak.rate) / MB;
		*f->values[FACT_JOB_leak_mb_s] = leak.rate / MB;
		*f->values[FACT_JOB_leak_low_mb_s] = leak.rate / MB - error;
		*f->values[FACT_JOB_leak_high_mb_s] = leak.rate / MB + error;
		*f->values[FACT_JOB_leak_now_mb] = v[n - 1] / MB;
		*f->values[FACT_JOB_leak_limit_mb] = facts__limit_mb(node);
	}
	free(t);
	return 0;
}

/* Over all nodes at one instant, at most; NaN: not known. */
static double highest_sum(const struct model_job *j, enum quantity own)
{
	double highest = NAN;

	for (size_t k = 0; k < (size_t)j->grid.n * j->grid.instants; k++) {
		double sum = NAN;

		for (unsigned i = 0; i < j->nnodes; i++) {
			const double *held = job_unit__held(&j->nodes[i].unit, own, &j->grid);

			sum = held ? known__sum(sum, held[k]) : sum;
		}
		highest = fmax(highest, sum);
	}
	return highest;
}

/* The largest process of the job; 0: not known. */
static double largest_process(const struct model_job *j)
{
	double most = 0;

	for (unsigned i = 0; i < j->ncommands; i++)
		most = fmax(most, j->commands[i].peak_mb);
	return most;
}

/*
 * What a request of memory must hold on a node. That of one process is exact, as the kernel keeps
 * its peak. The sum over several counts what they share once for each, so that where the cgroup's
 * highest charge is known, which has that once and page cache besides, it is no more than that.
 */
static double peak_of(const struct job_unit *node, enum quantity own, double largest)
{
	double peak = node->total[Q_PEAK];

	if (peak > largest)
		peak = fmax(largest, fmin(peak, node->total[Q_CHARGED_PEAK]));
	return fmax(peak, node->total[own]);
}

#define NEAR 0.5 /* of the limit: less is of a process that another limit ended, or a full node */

/* Between two rows memory grows unseen. Where a process was killed for want of it, and what was
 * seen comes near the limit, the job held all of that at that instant: this is why the kernel
 * killed. */
static double killed_with(const struct job_node *n, double peak, double largest)
{
	double limit = isnan(n->oom_limit_mb) ? facts__limit_mb(n) : n->oom_limit_mb;
	double seen = fmax(peak, largest);

	return n->unit.total[Q_OOM_KILLS] >= 1 && seen >= NEAR * limit ? limit : NAN;
}

#define ASK_MARGIN 1.2 /* of a request of memory, above what was used */

/* A process that is killed for want of memory would have taken more. */
static double ask_of(const struct facts *f, double peak, double limit)
{
	bool killed = *f->values[FACT_JOB_oom_kills] >= 1;

	return ASK_MARGIN * (killed ? fmax(peak, limit) : peak);
}

int facts_memory__fill(struct facts *f, const struct model_job *j)
{
	enum quantity own = facts__own_memory(j);
	const struct job_node *fullest = NULL;
	double limit = NAN, sum_peak = highest_sum(j, own), largest = largest_process(j);
	double *peak = f->values[FACT_JOB_peak_mb];

	for (unsigned i = 0; i < j->nnodes; i++) {
		const struct job_node *n = &j->nodes[i];
		double most = peak_of(&n->unit, own, largest);
		double killed = killed_with(n, most, j->nnodes > 1 ? NAN : largest);

		/* what a process has mapped of files counts in its peak, not against the limit */
		f->values[FACT_NODE_peak_mb][i] = isnan(killed) ? most : killed;
		*peak = fmax(*peak, f->values[FACT_NODE_peak_mb][i]);
		f->values[FACT_NODE_own_peak_mb][i] = fmax(n->unit.total[own], killed);
		limit = fmin(limit, facts__limit_mb(n));
		if (n->unit.bins && (!fullest || n->unit.total[own] > fullest->unit.total[own]))
			fullest = n;
	}
	for (unsigned k = 0; k < j->grid.n; k++)
		f->values[FACT_BIN_own_mb][k] = facts__bin_sum(j, own, k);
	for (unsigned k = 0; isnan(sum_peak) && k < j->grid.n; k++)
		sum_peak = fmax(sum_peak, f->values[FACT_BIN_own_mb][k]);
	for (unsigned i = 0; i < j->nnodes; i++)
		*f->values[FACT_JOB_own_peak_mb] =
			fmax(*f->values[FACT_JOB_own_peak_mb], f->values[FACT_NODE_own_peak_mb][i]);
	*f->values[FACT_JOB_own_sum_peak_mb] = fmax(sum_peak, facts__max(j, own));
	*f->values[FACT_JOB_limit_mb] = limit;
	*f->values[FACT_JOB_ask_mb] = ask_of(f, *peak, limit);
	return fullest ? fill_leak(f, j, fullest, own) : 0;
}
