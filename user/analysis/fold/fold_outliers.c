// SPDX-License-Identifier: GPL-2.0-only
/* Folding: which instances of a region have a usual duration, and which are similar. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

/* Sorts v; its upper median is element n / 2. */
static double upper_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), order__doubles);
	return v[n / 2];
}

static void median_range(double *v, size_t n, const struct fold_filter *f, struct fold_range *r)
{
	double half;

	r->center = upper_median(v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - r->center);
	r->width = upper_median(v, n);
	half = fmax(f->k * r->width, f->floor * r->center);
	r->lo = r->center - half;
	r->hi = r->center + half;
}

static void mean_range(const double *v, size_t n, const struct fold_filter *f, struct fold_range *r)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	r->center = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - r->center) * (v[i] - r->center);
	r->width = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
	r->lo = r->center - f->k * r->width;
	r->hi = r->center + f->k * r->width;
}

static size_t copy_known(double *to, const double *from, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isnan(from[i]))
			to[known++] = from[i];
	}
	return known;
}

enum analysis_status fold__outliers(const double *dur, size_t n, const struct fold_filter *f,
				    struct fold_range *r, bool *keep)
{
	_cleanup_free_ double *v = calloc(n + 1, sizeof(*v));
	size_t known;

	*r = (struct fold_range){NAN, NAN, NAN, NAN, 0};
	for (size_t i = 0; i < n; i++)
		keep[i] = false;
	if (!v)
		return ANALYSIS_NO_MEMORY;
	known = copy_known(v, dur, n);
	if (!known)
		return ANALYSIS_INSUFFICIENT;
	if (f->method == FOLD_MEAN)
		mean_range(v, known, f, r);
	else
		median_range(v, known, f, r);
	if (isnan(r->lo) || isnan(r->hi))
		return ANALYSIS_INSUFFICIENT;
	for (size_t i = 0; i < n; i++) {
		keep[i] = dur[i] >= r->lo && dur[i] <= r->hi;
		r->kept += keep[i];
	}
	return ANALYSIS_OK;
}

enum analysis_status fold__groups(const double *dur, size_t n, size_t *group, size_t *ngroups)
{
	_cleanup_free_ struct ranked *sorted = calloc(n + 1, sizeof(*sorted));
	size_t buckets = n / 4 < 100 ? n / 4 : 100, now = 0;
	double width = INFINITY;

	*ngroups = 0;
	if (!sorted)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (isnan(dur[i]))
			return ANALYSIS_UNSUITABLE;
		sorted[i] = (struct ranked){dur[i], i};
	}
	if (!n)
		return ANALYSIS_INSUFFICIENT;
	qsort(sorted, n, sizeof(*sorted), order__ranked);
	if (n >= 8)
		width = floor((sorted[n - 1].v - sorted[0].v) / (double)buckets);
	for (size_t i = 0; i < n; i++) {
		now += i && sorted[i].v - sorted[i - 1].v > width;
		group[sorted[i].at] = now;
	}
	*ngroups = now + 1;
	return ANALYSIS_OK;
}
