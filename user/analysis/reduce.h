/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reductions over the nodes of a job: payloads of bounded size whose merge is associative and
 * commutative, so that the shape of the tree does not change the result.
 */
#ifndef JP_ANALYSIS_REDUCE_H
#define JP_ANALYSIS_REDUCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"
#include "analysis/wide.h"

/* Number, sum, sum of squares and extremes of values. The sums are wide (wide.h): the order of
 * values and of merges does not change a mean, and changes a deviation by less than 1e-12 of it
 * where the mean is below 10^8 deviations. MOMENTS_NONE: no value. */
struct moments {
	uint64_t n;
	struct wide sum, squares;
	double min, max; /* NaN: there is no value */
};

#define MOMENTS_NONE ((struct moments){0, {0, 0}, {0, 0}, NAN, NAN})

/* NaN is not a value and does not count. */
void moments__add(struct moments *m, double v);
void moments__add_all(struct moments *m, const double *v, size_t n);
/* Adds the values of b to a. */
void moments__merge(struct moments *a, const struct moments *b);
/* NaN where there is no value. */
double moments__mean(const struct moments *m);
/* The sum of squared deviations from the mean. */
double moments__m2(const struct moments *m);
/* Standard deviation of the sample (n - 1); NaN for fewer than two values. */
double moments__std(const struct moments *m);

/* The mixing function of S. Vigna's generator splitmix64, after one step of its state. */
uint64_t splitmix64(uint64_t z);

/* A burst's name in the job, and the hash that decides whether it is sampled. */
struct sample_item {
	uint64_t key, node, seq;
};

/* key = splitmix64(seed ^ (node << 40 | seq)). */
struct sample_item sample_item__of(uint64_t seed, uint64_t node, uint64_t seq);
/* Whether an item belongs to a sample of the part p of all: key < p * 2^64. */
bool sample_item__is_in_part(uint64_t key, double p);
/* Ascending by (key, node, seq), for qsort(). */
int sample_item__compare(const void *a, const void *b);

/* The k smallest items by (key, node, seq) of all that were added, as a heap whose first item is
 * the largest. */
struct bottom_k {
	struct sample_item *items;
	size_t n, k;
};

/* ANALYSIS_NO_MEMORY: there is no room for k items. */
enum analysis_status bottom_k__init(struct bottom_k *b, size_t k);
void bottom_k__add(struct bottom_k *b, struct sample_item item);
/* Adds the items of from; no item may be in both. */
void bottom_k__merge(struct bottom_k *b, const struct bottom_k *from);
/* Puts the items in ascending order. Nothing may be added afterwards. */
void bottom_k__sort(struct bottom_k *b);
void bottom_k__free(struct bottom_k *b);

/* A tree over n nodes in heap order: node 0 is the root, the parent of node i is (i - 1) / fanout.
 */
struct reduce_tree {
	size_t depth;	      /* steps from the last node to the root */
	size_t root_children; /* nodes below the root itself */
	size_t leaves;	      /* nodes without a child */
	size_t last_parent;   /* of node n - 1; SIZE_MAX: that is the root */
};

/* ANALYSIS_INSUFFICIENT: no node. ANALYSIS_UNSUITABLE: fanout is 0. */
enum analysis_status reduce_tree__of(size_t n, size_t fanout, struct reduce_tree *t);

#endif
