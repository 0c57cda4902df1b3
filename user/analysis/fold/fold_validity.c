// SPDX-License-Identifier: GPL-2.0-only
/* Folding: figures that say whether a folded region can be trusted. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

static double max_gap(const double *sorted, size_t n)
{
	double gap = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		gap = fmax(gap, sorted[i] - before);
		before = fmax(before, sorted[i]);
	}
	return fmax(gap, 1 - before);
}

/* How far the empirical distribution is off, above and below each of its steps. */
static double kolmogorov_distance(const double *sorted, size_t n)
{
	double d = 0;

	for (size_t i = 0; i < n; i++) {
		double x = fmin(fmax(sorted[i], 0), 1);

		d = fmax(d, (double)(i + 1) / (double)n - x);
		d = fmax(d, x - (double)i / (double)n);
	}
	return d;
}

#define SURE 2.0  /* times the limit of 5 % */
#define FAR  0.25 /* at least: a thread that others disturb is not sampled uniformly either */

bool fold__is_locked(const struct fold_points *p, const struct fold_spline *cpu)
{
	_cleanup_free_ double *u = calloc(p->n + 1, sizeof(*u)), *v = calloc(p->n + 1, sizeof(*v));

	if (!u || !v || p->n < 30)
		return false;
	for (size_t i = 0; i < p->n; i++) {
		u[i] = p->x[i];
		v[i] = cpu->nknots ? fold_spline__at(cpu, p->x[i]) : p->x[i];
	}
	qsort(u, p->n, sizeof(*u), order__doubles);
	qsort(v, p->n, sizeof(*v), order__doubles);
	return fmin(kolmogorov_distance(u, p->n), kolmogorov_distance(v, p->n)) >
	       fmax(SURE * 1.358 / sqrt((double)p->n), FAR);
}

static void residuals(const double *x, const double *y, size_t n, const struct fold_spline *s,
		      struct fold_validity *v)
{
	double count = (double)v->n_samples, mean = 0, all = 0, squares = 0, sum = 0;
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < n; i++)
		mean += isnan(x[i]) || isnan(y[i]) ? 0 : y[i] / count;
	for (size_t i = 0; i < n; i++) {
		double e = y[i] - fold_spline__at(s, x[i]);

		if (isnan(x[i]) || isnan(y[i]))
			continue;
		sum += fabs(e);
		squares += e * e;
		all += (y[i] - mean) * (y[i] - mean);
		least = fmin(least, y[i]);
		most = fmax(most, y[i]);
	}
	v->rms = sqrt(squares / count);
	v->mean_abs = sum / count;
	/* Equal values may miss their mean by a rounding. */
	v->r2 = most > least && all > 0 ? 1 - squares / all : NAN;
}

enum analysis_status fold__validity(const double *x, const double *y, size_t n,
				    const struct fold_spline *s, size_t n_instances, size_t n_kept,
				    struct fold_validity *v)
{
	_cleanup_free_ double *sorted = calloc(n + 1, sizeof(*sorted));
	size_t known = 0;

	*v = (struct fold_validity){0,	 NAN,	NAN,   NAN, NAN, NAN, NAN,
				    NAN, false, false, NAN, NAN, NAN, NAN};
	if (!sorted)
		return ANALYSIS_NO_MEMORY;
	if (n_instances)
		v->kept_fraction = (double)n_kept / (double)n_instances;
	for (size_t i = 0; i < n; i++) {
		if (!isnan(x[i]) && !isnan(y[i]))
			sorted[known++] = x[i];
	}
	v->n_samples = known;
	if (!known)
		return ANALYSIS_INSUFFICIENT;
	qsort(sorted, known, sizeof(*sorted), order__doubles);
	v->max_gap = max_gap(sorted, known);
	v->ks_d = kolmogorov_distance(sorted, known);
	v->ks_limit = 1.358 / sqrt((double)known);
	v->uniform = v->ks_d <= v->ks_limit;
	residuals(x, y, n, s, v);
	v->good = n_kept >= 10 && known >= 30 && v->max_gap <= 0.05 && v->uniform && v->rms <= 0.05;
	return ANALYSIS_OK;
}

void fold_validity__scatter(struct fold_validity *v, double scatter)
{
	v->scatter = scatter;
	v->good = v->good && !(scatter > FOLD_SCATTER_MAX);
}

void fold_validity__misplaced(struct fold_validity *v, double misplaced)
{
	v->misplaced = misplaced;
	v->good = v->good && !(misplaced > FOLD_MISPLACED_MAX);
}

void fold_validity__blurred(struct fold_validity *v, double blurred)
{
	v->blurred = blurred;
	v->good = v->good && !(blurred > FOLD_BLURRED_MAX);
}

#define PAIRS  30  /* are needed */
#define CHANCE 3.0 /* standard deviations */

double fold__unlike(const double *x, const uint64_t *code, const size_t *execution, size_t n)
{
	size_t within = 0, same = 0, across = 0, alike = 0, next = 0;
	double a, b, p;

	for (size_t i = 0; i + 1 < n; i++) {
		bool is_within = execution[i] == execution[i + 1];

		within += is_within;
		same += is_within && code[i] == code[i + 1];
		while (next < n && execution[next] <= execution[i])
			next++;
		if (next == n || execution[next] != execution[i] + 1)
			continue;
		while (next + 1 < n && execution[next + 1] == execution[next] &&
		       fabs(x[next + 1] - x[i]) < fabs(x[next] - x[i]))
			next++;
		across++;
		alike += code[next] == code[i];
	}
	if (within < PAIRS || across < PAIRS)
		return NAN;
	a = (double)same / (double)within;
	b = (double)alike / (double)across;
	p = (double)(same + alike) / (double)(within + across);
	return a - b - CHANCE * sqrt(p * (1 - p) * (1. / (double)within + 1. / (double)across));
}

void fold_validity__unlike(struct fold_validity *v, double unlike)
{
	v->unlike = unlike;
	v->good = v->good && !(unlike > FOLD_UNLIKE_MAX);
}
