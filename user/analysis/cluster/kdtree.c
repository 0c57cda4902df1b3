// SPDX-License-Identifier: GPL-2.0-or-later
/* A k-d tree over points of few dimensions. */
#include "analysis/cluster/kdtree.h"

#include <math.h>
#include <stdlib.h>

double squared_distance(const double *a, const double *b, unsigned dims)
{
	double sum = 0;

	for (unsigned d = 0; d < dims; d++)
		sum += (a[d] - b[d]) * (a[d] - b[d]);
	return sum;
}

double squared_limit(double d)
{
	double limit = d * d;

	if (!isfinite(limit))
		return limit;
	while (sqrt(nextafter(limit, INFINITY)) <= d)
		limit = nextafter(limit, INFINITY);
	return limit;
}

static double coordinate(const struct kdtree *t, size_t place, unsigned axis)
{
	return t->v[t->at[place] * t->dims + axis];
}

static void swap(size_t *a, size_t *b)
{
	size_t was = *a;

	*a = *b;
	*b = was;
}

/* Places before k get no larger coordinates than k, those behind no smaller ones: Hoare's
 * selection, which many equal coordinates do not slow down. */
static void select_place(struct kdtree *t, size_t lo, size_t hi, size_t k, unsigned axis)
{
	size_t last = hi - 1;

	while (lo < last) {
		double pivot = coordinate(t, lo + (last - lo) / 2, axis);
		size_t i = lo, j = last + 1; /* j - 1 is the place, which may become lo - 1 */

		while (i < j) {
			while (coordinate(t, i, axis) < pivot)
				i++;
			while (coordinate(t, j - 1, axis) > pivot)
				j--;
			if (i < j) {
				swap(&t->at[i], &t->at[j - 1]);
				i++;
				j--;
			}
		}
		if (k < j)
			last = j - 1;
		else if (k >= i)
			lo = i;
		else
			return;
	}
}

/* Fills the box of a range; returns the dimension that it is widest in. */
static unsigned make_box(struct kdtree *t, size_t lo, size_t hi, size_t middle)
{
	double *least = t->box + 2 * middle * t->dims, *most = least + t->dims;
	unsigned widest = 0;

	for (unsigned d = 0; d < t->dims; d++) {
		least[d] = INFINITY;
		most[d] = -INFINITY;
		for (size_t i = lo; i < hi; i++) {
			least[d] = fmin(least[d], coordinate(t, i, d));
			most[d] = fmax(most[d], coordinate(t, i, d));
		}
		if (most[d] - least[d] > most[widest] - least[widest])
			widest = d;
	}
	return widest;
}

/* Depth of recursion: log2 of n. Returns the smallest row of the range. */
static size_t build_range(struct kdtree *t, size_t lo, size_t hi)
{
	size_t middle = lo + (hi - lo) / 2, least, half;

	if (lo == hi)
		return SIZE_MAX;
	t->axis[middle] = (uint8_t)make_box(t, lo, hi, middle);
	select_place(t, lo, hi, middle, t->axis[middle]);
	least = t->at[middle];
	half = build_range(t, lo, middle);
	least = half < least ? half : least;
	half = build_range(t, middle + 1, hi);
	least = half < least ? half : least;
	t->least[middle] = least;
	return least;
}

enum analysis_status kdtree__build(struct kdtree *t, const double *v, unsigned dims,
				   const size_t *rows, size_t n)
{
	*t = (struct kdtree){0};
	if (!dims || dims > KDTREE_MAX_DIMS)
		return ANALYSIS_UNSUITABLE;
	*t = (struct kdtree){
		.v = v,
		.dims = dims,
		.n = n,
		.at = calloc(n + 1, sizeof(*t->at)),
		.least = calloc(n + 1, sizeof(*t->least)),
		.axis = calloc(n + 1, sizeof(*t->axis)),
		.box = calloc(2 * n * dims + 1, sizeof(*t->box)),
	};
	if (!t->at || !t->least || !t->axis || !t->box) {
		kdtree__free(t);
		return ANALYSIS_NO_MEMORY;
	}
	for (size_t i = 0; i < n; i++)
		t->at[i] = rows ? rows[i] : i;
	build_range(t, 0, n);
	return ANALYSIS_OK;
}

void kdtree__free(struct kdtree *t)
{
	free(t->at);
	free(t->least);
	free(t->axis);
	free(t->box);
	*t = (struct kdtree){0};
}

/* The squared distance of q to the box of a range. It is at most that of any point in it, as
 * computed: all of its terms are, and they are added in the same order. */
static double distance_to_box(const struct kdtree *t, const double *q, size_t middle)
{
	const double *least = t->box + 2 * middle * t->dims, *most = least + t->dims;
	double sum = 0;

	for (unsigned d = 0; d < t->dims; d++) {
		double off = q[d] < least[d]  ? least[d] - q[d]
			     : q[d] > most[d] ? q[d] - most[d]
					      : 0;

		sum += off * off;
	}
	return sum;
}

struct nearest {
	double squared;
	size_t row;
};

/* Equal distances: the smaller row is nearer. */
static void visit_nearest(const struct kdtree *t, const double *q, size_t lo, size_t hi,
			  struct nearest *best)
{
	size_t middle = lo + (hi - lo) / 2;
	double squared;

	if (lo == hi)
		return;
	squared = distance_to_box(t, q, middle);
	if (squared > best->squared || (squared == best->squared && t->least[middle] > best->row))
		return;
	squared = squared_distance(q, t->v + t->at[middle] * t->dims, t->dims);
	if (squared < best->squared || (squared == best->squared && t->at[middle] < best->row))
		*best = (struct nearest){squared, t->at[middle]};
	if (q[t->axis[middle]] < coordinate(t, middle, t->axis[middle])) {
		visit_nearest(t, q, lo, middle, best);
		visit_nearest(t, q, middle + 1, hi, best);
	} else {
		visit_nearest(t, q, middle + 1, hi, best);
		visit_nearest(t, q, lo, middle, best);
	}
}

double kdtree__nearest(const struct kdtree *t, const double *q, double limit, size_t *row)
{
	struct nearest best = {limit, SIZE_MAX};

	visit_nearest(t, q, 0, t->n, &best);
	if (best.row == SIZE_MAX)
		return INFINITY;
	*row = best.row;
	return best.squared;
}

/* The k smallest squared distances so far, a heap with the largest at the top. */
struct smallest {
	double *v;
	size_t n, k;
};

static void push(struct smallest *s, double v)
{
	size_t i = s->n;

	if (s->n == s->k) {
		if (v >= s->v[0])
			return;
		for (i = 0; 2 * i + 1 < s->n;) {
			size_t below = 2 * i + 1;

			below += below + 1 < s->n && s->v[below + 1] > s->v[below];
			if (s->v[below] <= v)
				break;
			s->v[i] = s->v[below];
			i = below;
		}
	} else {
		for (s->n++; i && s->v[(i - 1) / 2] < v; i = (i - 1) / 2)
			s->v[i] = s->v[(i - 1) / 2];
	}
	s->v[i] = v;
}

static void visit_kth(const struct kdtree *t, const double *q, size_t lo, size_t hi,
		      struct smallest *found)
{
	size_t middle = lo + (hi - lo) / 2;

	if (lo == hi || (found->n == found->k && distance_to_box(t, q, middle) >= found->v[0]))
		return;
	push(found, squared_distance(q, t->v + t->at[middle] * t->dims, t->dims));
	if (q[t->axis[middle]] < coordinate(t, middle, t->axis[middle])) {
		visit_kth(t, q, lo, middle, found);
		visit_kth(t, q, middle + 1, hi, found);
	} else {
		visit_kth(t, q, middle + 1, hi, found);
		visit_kth(t, q, lo, middle, found);
	}
}

double kdtree__kth(const struct kdtree *t, const double *q, size_t k, double *room)
{
	struct smallest found = {room, 0, k};

	visit_kth(t, q, 0, t->n, &found);
	return room[0];
}
