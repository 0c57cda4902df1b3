/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A k-d tree over points of few dimensions: nearest neighbours in O(log n). */
#ifndef JP_ANALYSIS_KDTREE_H
#define JP_ANALYSIS_KDTREE_H

#include <stdint.h>
#include <stddef.h>

#include "analysis/status.h"

#define KDTREE_MAX_DIMS 3

/*
 * A range of places [lo, hi) is described at its middle place: at[] is the row of v that lies
 * there, axis[] the dimension that separates the two halves, least[] the smallest row of the range.
 * v is rows of dims values without NaN, which must outlive the tree.
 */
struct kdtree {
	const double *v;
	unsigned dims;
	size_t n, *at, *least;
	uint8_t *axis;
	double *box; /* the extremes of the range: dims smallest, then dims largest values */
};

/* Builds a tree of rows[0..n), or of rows 0..n-1 where rows is NULL. ANALYSIS_UNSUITABLE: dims is
 * not in 1..KDTREE_MAX_DIMS. */
enum analysis_status kdtree__build(struct kdtree *t, const double *v, unsigned dims,
				   const size_t *rows, size_t n);
void kdtree__free(struct kdtree *t);

/* The squared distance of two points. */
double squared_distance(const double *a, const double *b, unsigned dims);
/* The largest squared distance whose root is at most d; for some d it is more than d * d, which is
 * rounded. */
double squared_limit(double d);

/* The squared distance of q to the nearest point if that is at most limit, else INFINITY with *row
 * unchanged; *row is the smallest row with that distance. */
double kdtree__nearest(const struct kdtree *t, const double *q, double limit, size_t *row);
/* The squared distance of q to the k-th nearest point, 1 <= k <= n; room is for k values. */
double kdtree__kth(const struct kdtree *t, const double *q, size_t k, double *room);

#endif
