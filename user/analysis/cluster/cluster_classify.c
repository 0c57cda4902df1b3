// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: a subset of the bursts is chosen, and the others get the labels of their neighbours. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cluster/kdtree.h"
#include "analysis/order.h"
#include "analysis/reduce.h"
#include "base/cleanup.h"

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
