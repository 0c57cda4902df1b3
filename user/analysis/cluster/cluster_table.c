// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: numbered by their part of the time, described by a table. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/reduce.h"
#include "base/cleanup.h"

/* A cluster before it gets its number. */
struct ranking {
	double total;
	size_t first; /* point */
	unsigned label;
};

static int compare_rankings(const void *a, const void *b)
{
	const struct ranking *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static bool are_in_range(const unsigned *labels, size_t n, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		if (labels[i] > k)
			return false;
	}
	return true;
}

enum analysis_status cluster__relabel(unsigned *labels, const double *dur, size_t n, unsigned k)
{
	_cleanup_free_ struct ranking *r = NULL;
	_cleanup_free_ unsigned *number = NULL;

	if (!are_in_range(labels, n, k))
		return ANALYSIS_UNSUITABLE;
	r = calloc((size_t)k + 1, sizeof(*r));
	number = calloc((size_t)k + 1, sizeof(*number));
	if (!r || !number)
		return ANALYSIS_NO_MEMORY;
	for (unsigned c = 0; c <= k; c++)
		r[c] = (struct ranking){0, SIZE_MAX, c};
	for (size_t i = 0; i < n; i++) {
		struct ranking *mine = &r[labels[i]];

		mine->total += isnan(dur[i]) ? 0 : dur[i];
		mine->first = i < mine->first ? i : mine->first;
	}
	qsort(r + 1, k, sizeof(*r), compare_rankings);
	for (unsigned c = 1; c <= k; c++)
		number[r[c].label] = c;
	for (size_t i = 0; i < n; i++)
		labels[i] = number[labels[i]];
	return ANALYSIS_OK;
}

static void fill_durations(const struct moments *m, struct cluster_row *rows, unsigned k)
{
	double all = 0;

	for (unsigned c = 0; c <= k; c++)
		all += rows[c].total_dur;
	for (unsigned c = 0; c <= k; c++) {
		rows[c].mean_dur = m[c].n ? rows[c].total_dur / (double)m[c].n : NAN;
		rows[c].std_dur = moments__std(&m[c]);
		rows[c].share = all > 0 ? rows[c].total_dur / all : NAN;
	}
}

/* The means of one column, in every cluster. */
static void fill_means(const unsigned *labels, const double *v, size_t n, size_t ncols, unsigned k,
		       struct moments *m, double *means)
{
	for (unsigned c = 0; c <= k; c++)
		m[c] = MOMENTS_NONE;
	for (size_t i = 0; i < n; i++)
		moments__add(&m[labels[i]], v[i * ncols]);
	for (unsigned c = 0; c <= k; c++)
		means[c * ncols] = moments__mean(&m[c]);
}

enum analysis_status cluster__table(const unsigned *labels, const double *dur, const double *v,
				    size_t n, size_t ncols, unsigned k, struct cluster_row *rows,
				    double *means)
{
	_cleanup_free_ struct moments *m = NULL;

	if (!are_in_range(labels, n, k))
		return ANALYSIS_UNSUITABLE;
	m = calloc((size_t)k + 1, sizeof(*m));
	if (!m)
		return ANALYSIS_NO_MEMORY;
	for (unsigned c = 0; c <= k; c++) {
		rows[c] = (struct cluster_row){0};
		m[c] = MOMENTS_NONE;
	}
	for (size_t i = 0; i < n; i++) {
		struct cluster_row *mine = &rows[labels[i]];

		mine->n++;
		mine->total_dur += isnan(dur[i]) ? 0 : dur[i];
		moments__add(&m[labels[i]], dur[i]);
	}
	fill_durations(m, rows, k);
	for (size_t col = 0; col < ncols; col++)
		fill_means(labels, v + col, n, ncols, k, m, means + col);
	return ANALYSIS_OK;
}
