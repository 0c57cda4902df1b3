/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps before and after DBSCAN. Before: features are filtered and brought to one scale, and a
 * subset of the points is chosen. After: the other points get the labels of their neighbours, and a
 * table of the clusters is made. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cluster/kdtree.h"
#include "analysis/order.h"
#include "analysis/reduce.h"
#include "base/cleanup.h"

/* ---- the features of bursts are filtered and brought to one scale */

static double scaled(double v, const struct cluster_feature *f)
{
	return f->log ? log10(v) : v;
}

static bool is_usable(double v, const struct cluster_feature *f)
{
	return isfinite(v) && v >= f->min && v <= f->max && (!f->log || v > 0);
}

size_t cluster__filter(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
		       const double *dur, double min_dur, bool *used)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		used[i] = !dur || dur[i] >= min_dur;
		for (unsigned d = 0; d < dims; d++)
			used[i] = used[i] && is_usable(v[i * dims + d], &f[d]);
		all += used[i];
	}
	return all;
}

enum analysis_status cluster__range(const double *v, size_t n, unsigned dims,
				    const struct cluster_feature *f, double *lo, double *hi)
{
	enum analysis_status status = n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;

	for (unsigned d = 0; d < dims; d++) {
		lo[d] = hi[d] = NAN;
		for (size_t i = 0; i < n; i++) {
			double s = scaled(v[i * dims + d], &f[d]);

			lo[d] = fmin(lo[d], s);
			hi[d] = fmax(hi[d], s);
			if (!isfinite(s))
				status = ANALYSIS_UNSUITABLE;
		}
	}
	return status;
}

void cluster__normalise(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
			const double *lo, const double *hi, double *out)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned d = 0; d < dims; d++) {
			double s = scaled(v[i * dims + d], &f[d]);

			out[i * dims + d] =
				hi[d] > lo[d] ? (s - lo[d]) / (hi[d] - lo[d]) * f[d].weight : 0;
		}
	}
}

/* ---- numbered by their part of the time, described by a table */

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

static bool are_labels(const unsigned *labels, size_t n, unsigned k)
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

	if (!are_labels(labels, n, k))
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

	if (!are_labels(labels, n, k))
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

/* ---- how alike the sequences of the tasks are */

/* A burst, named by its position in its task and by its cluster. */
struct position {
	size_t at;
	unsigned label;
};

static int compare_positions(const void *a, const void *b)
{
	const struct position *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Counts the bursts of the commonest cluster among sorted bursts p[0..n) of one position. */
static size_t count_mode(const struct position *p, size_t n)
{
	size_t mode = 0, run = 0;

	for (size_t i = 0; i < n; i++) {
		run = i && p[i].label == p[i - 1].label ? run + 1 : 1;
		mode = run > mode ? run : mode;
	}
	return mode;
}

enum analysis_status cluster__spmdness(const unsigned *labels, const unsigned *task, size_t n,
				       unsigned ntasks, double *spmdness)
{
	_cleanup_free_ size_t *count = calloc((size_t)ntasks + 1, sizeof(*count));
	_cleanup_free_ struct position *p = calloc(n + 1, sizeof(*p));
	size_t end, npositions = 0;
	double sum = 0;

	*spmdness = NAN;
	if (!count || !p)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (task[i] >= ntasks)
			return ANALYSIS_UNSUITABLE;
		p[i] = (struct position){count[task[i]]++, labels[i]};
	}
	if (!n)
		return ANALYSIS_INSUFFICIENT;
	qsort(p, n, sizeof(*p), compare_positions);
	for (size_t i = 0; i < n; i = end, npositions++) {
		for (end = i; end < n && p[end].at == p[i].at;)
			end++;
		sum += (double)count_mode(p + i, end - i) / (double)(end - i);
	}
	*spmdness = sum / (double)npositions;
	return ANALYSIS_OK;
}

/* whole[t]: all bursts of thread t are taken. */
static enum analysis_status choose_threads(unsigned nthreads, size_t k, uint64_t seed, bool *whole)
{
	struct bottom_k b;

	if (bottom_k__init(&b, k < nthreads ? k : nthreads) != ANALYSIS_OK)
		return ANALYSIS_NO_MEMORY;
	for (unsigned t = 0; t < nthreads; t++)
		bottom_k__add(&b, (struct sample_item){splitmix64(seed ^ t), t, 0});
	for (size_t i = 0; i < b.n; i++)
		whole[b.items[i].node] = true;
	bottom_k__free(&b);
	return ANALYSIS_OK;
}

/*
 * A burst is taken when its hash, as a part of the largest one, is below 1 or, in other threads,
 * below s->part. Divided by that bound, hashes of both are compared with the same 1, or with less
 * when the limit asks for it.
 */
static size_t rank_bursts(const unsigned *thread, const uint64_t *key, size_t n, const bool *whole,
			  double part, struct ranked *ranked)
{
	size_t candidates = 0;

	for (size_t i = 0; i < n; i++) {
		double height = ldexp((double)key[i], -64) / (whole[thread[i]] ? 1 : part);

		if (whole[thread[i]] || sample_item__is_in_part(key[i], part))
			ranked[candidates++] = (struct ranked){height, i};
	}
	qsort(ranked, candidates, sizeof(*ranked), order__ranked);
	return candidates;
}

static bool are_in_range(const unsigned *thread, size_t n, unsigned nthreads)
{
	for (size_t i = 0; i < n; i++) {
		if (thread[i] >= nthreads)
			return false;
	}
	return true;
}

enum analysis_status cluster__subset(const unsigned *thread, const uint64_t *key, size_t n,
				     unsigned nthreads, uint64_t seed,
				     const struct cluster_subset *s, bool *take, size_t *taken)
{
	_cleanup_free_ bool *whole = calloc((size_t)nthreads + 1, sizeof(*whole));
	_cleanup_free_ struct ranked *ranked = calloc(n + 1, sizeof(*ranked));

	*taken = 0;
	for (size_t i = 0; i < n; i++)
		take[i] = n <= s->all;
	if (!whole || !ranked)
		return ANALYSIS_NO_MEMORY;
	if (!are_in_range(thread, n, nthreads))
		return ANALYSIS_UNSUITABLE;
	*taken = n;
	if (n <= s->all)
		return ANALYSIS_OK;
	if (choose_threads(nthreads, s->threads, seed, whole) != ANALYSIS_OK)
		return ANALYSIS_NO_MEMORY;
	*taken = rank_bursts(thread, key, n, whole, s->part, ranked);
	*taken = *taken < s->limit ? *taken : s->limit;
	for (size_t i = 0; i < *taken; i++)
		take[ranked[i].at] = true;
	return ANALYSIS_OK;
}

enum analysis_status cluster__classify(const double *subset, const unsigned *subset_labels,
				       size_t m, const double *v, size_t n, unsigned dims,
				       double eps, unsigned *labels)
{
	enum analysis_status status;
	double limit = squared_limit(eps);
	struct kdtree t;

	for (size_t i = 0; i < n; i++)
		labels[i] = 0;
	for (size_t i = 0; i < m * dims; i++) {
		if (isnan(subset[i]))
			return ANALYSIS_UNSUITABLE;
	}
	status = kdtree__build(&t, subset, dims, NULL, m);
	if (status != ANALYSIS_OK)
		return status;
	for (size_t i = 0; i < n; i++) {
		size_t row;

		if (kdtree__nearest(&t, v + i * dims, limit, &row) < INFINITY)
			labels[i] = subset_labels[row];
	}
	kdtree__free(&t);
	return ANALYSIS_OK;
}

double cluster__agreement(const unsigned *a, const unsigned *b, size_t n)
{
	size_t equal = 0;

	for (size_t i = 0; i < n; i++)
		equal += a[i] == b[i];
	return n ? (double)equal / (double)n : NAN;
}
