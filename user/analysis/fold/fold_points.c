// SPDX-License-Identifier: GPL-2.0-only
/* Folding: samples become points of one instance, and a choice of them that covers it evenly. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

void fold_points__free(struct fold_points *p)
{
	free(p->x);
	free(p->y);
	free(p->instance);
	*p = (struct fold_points){0};
}

static bool counts(const struct fold_instance *in)
{
	return in->t1 > in->t0 && in->c1 > in->c0;
}

/* The samples inside of an instance, in time order, become points behind those that p has. */
static void add_instance(struct fold_points *p, const struct fold_instance *in, size_t index,
			 struct ranked *order)
{
	size_t n = 0;

	for (size_t i = 0; i < in->nsamples; i++) {
		const struct fold_sample *s = &in->samples[i];

		if (s->t > in->t0 && s->t < in->t1 && !isnan(s->c))
			order[n++] = (struct ranked){s->t, i};
	}
	qsort(order, n, sizeof(*order), order__ranked);
	for (size_t i = 0; i < n; i++) {
		const struct fold_sample *s = &in->samples[order[i].at];

		p->x[p->n] = (s->t - in->t0) / (in->t1 - in->t0);
		p->y[p->n] = (s->c - in->c0) / (in->c1 - in->c0);
		p->instance[p->n++] = index;
	}
}

enum analysis_status fold__points(const struct fold_instance *instances, size_t n, const bool *keep,
				  struct fold_points *p)
{
	_cleanup_free_ struct ranked *order = NULL;
	size_t all = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		all += instances[i].nsamples;
		most = instances[i].nsamples > most ? instances[i].nsamples : most;
	}
	order = calloc(most + 1, sizeof(*order));
	*p = (struct fold_points){
		.x = calloc(all + 1, sizeof(*p->x)),
		.y = calloc(all + 1, sizeof(*p->y)),
		.instance = calloc(all + 1, sizeof(*p->instance)),
	};
	if (!order || !p->x || !p->y || !p->instance) {
		fold_points__free(p);
		return ANALYSIS_NO_MEMORY;
	}
	for (size_t i = 0; i < n; i++) {
		if ((!keep || keep[i]) && counts(&instances[i]))
			add_instance(p, &instances[i], i, order);
	}
	return p->n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;
}

/* next[i] leads to the nearest place at or behind i that is free; paths are halved on the way. */
static size_t find_free(size_t *next, size_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

/*
 * Places are 1..n in sorted[], and 0 and n + 1 are always free ends. left[] and right[] are
 * find_free()'s chains in both directions.
 */
static void take_nearest(const struct ranked *sorted, size_t n, size_t *left, size_t *right,
			 size_t from, double center, bool *take)
{
	size_t r = find_free(right, from), l = find_free(left, from - 1), nearest = r;

	if (l && (r > n || center - sorted[l - 1].v <= sorted[r - 1].v - center))
		nearest = l;
	take[sorted[nearest - 1].at] = true;
	left[nearest] = nearest - 1;
	right[nearest] = nearest + 1;
}

enum analysis_status fold__thin(const double *x, size_t n, size_t cap, bool *take)
{
	_cleanup_free_ struct ranked *sorted = calloc(n + 1, sizeof(*sorted));
	_cleanup_free_ size_t *left = calloc(n + 2, sizeof(*left));
	_cleanup_free_ size_t *right = calloc(n + 2, sizeof(*right));
	size_t from = 1;

	if (!sorted || !left || !right)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]))
			return ANALYSIS_UNSUITABLE;
		sorted[i] = (struct ranked){x[i], i};
		take[i] = n <= cap;
	}
	if (n <= cap)
		return ANALYSIS_OK;
	for (size_t i = 0; i < n + 2; i++)
		left[i] = right[i] = i;
	qsort(sorted, n, sizeof(*sorted), order__ranked);
	for (size_t j = 0; j < cap; j++) {
		double center = ((double)j + 0.5) / (double)cap;

		while (from <= n && sorted[from - 1].v < center)
			from++;
		take_nearest(sorted, n, left, right, from, center, take);
	}
	return ANALYSIS_OK;
}
