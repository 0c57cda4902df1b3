/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds a region from end to end: instances with samples become a curve, a rate and figures of
 * their validity. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

/* ---- instances whose points lie far from the curve of all are left out */

#define FIT_POINTS 1000 /* as many of the points make the curve */
#define CURVE	   1001 /* values of the curve, so that a step is 0.001 */

/* From a point to the part j, j + 1 of the curve, squared. */
static double squared_distance(const double *curve, size_t j, double x, double y)
{
	double step = 1.0 / (CURVE - 1), rise = curve[j + 1] - curve[j];
	double dx = x - (double)j * step, dy = y - curve[j];
	double along = (dx * step + dy * rise) / (step * step + rise * rise);

	along = fmin(fmax(along, 0), 1);
	dx -= along * step;
	dy -= along * rise;
	return dx * dx + dy * dy;
}

/* From a point with x in [0, 1] to the curve: parts farther away in x than the best are not seen.
 */
static double curve_distance(const double *curve, double x, double y)
{
	double step = 1.0 / (CURVE - 1), best;
	size_t at = (size_t)fmin(x / step, CURVE - 2);

	best = squared_distance(curve, at, x, y);
	for (size_t j = at + 1; j < CURVE - 1; j++) {
		double dx = (double)j * step - x;

		if (dx > 0 && dx * dx >= best)
			break;
		best = fmin(best, squared_distance(curve, j, x, y));
	}
	for (size_t j = at; j-- > 0;) {
		double dx = x - (double)(j + 1) * step;

		if (dx > 0 && dx * dx >= best)
			break;
		best = fmin(best, squared_distance(curve, j, x, y));
	}
	return sqrt(best);
}

/* The curve of at most FIT_POINTS of the points. */
static enum analysis_status fit_some(const struct fold_points *p, double nugget, double *curve)
{
	_cleanup_free_ double *x = calloc(p->n + 1, sizeof(*x)), *y = calloc(p->n + 1, sizeof(*y));
	_cleanup_free_ bool *take = calloc(p->n + 1, sizeof(*take));
	enum analysis_status status = ANALYSIS_NO_MEMORY;
	size_t n = 0;

	if (x && y && take)
		status = fold__thin(p->x, p->n, FIT_POINTS, take);
	for (size_t i = 0; status == ANALYSIS_OK && i < p->n; i++) {
		if (take[i]) {
			x[n] = p->x[i];
			y[n++] = p->y[i];
		}
	}
	if (status == ANALYSIS_OK)
		status = fold__krige(x, y, n, nugget, curve, CURVE);
	return status;
}

/* mean[i] becomes the mean distance of the points of instance i, NaN where it has none. */
static enum analysis_status mean_distances(const struct fold_points *p, double nugget, double *mean,
					   size_t ninstances)
{
	_cleanup_free_ size_t *count = NULL;
	double curve[CURVE];
	enum analysis_status status = fit_some(p, nugget, curve);

	if (status != ANALYSIS_OK)
		return status;
	count = calloc(ninstances + 1, sizeof(*count));
	if (!count)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < p->n; i++) {
		mean[p->instance[i]] += curve_distance(curve, p->x[i], p->y[i]);
		count[p->instance[i]]++;
	}
	for (size_t i = 0; i < ninstances; i++)
		mean[i] = count[i] ? mean[i] / (double)count[i] : NAN;
	return ANALYSIS_OK;
}

enum analysis_status fold__prefilter(const struct fold_points *p, double nugget, double k,
				     bool *keep, size_t ninstances)
{
	_cleanup_free_ double *mean = calloc(ninstances + 1, sizeof(*mean));
	_cleanup_free_ bool *near = calloc(ninstances + 1, sizeof(*near));
	struct fold_filter f = {FOLD_MEAN, k, 0};
	struct fold_range range;
	enum analysis_status status;

	if (!mean || !near)
		return ANALYSIS_NO_MEMORY;
	status = mean_distances(p, nugget, mean, ninstances);
	if (status == ANALYSIS_OK)
		status = fold__outliers(mean, ninstances, &f, &range, near);
	if (status != ANALYSIS_OK)
		return status;
	for (size_t i = 0; i < ninstances; i++) {
		if (!isnan(mean[i]) && !near[i])
			keep[i] = false;
	}
	return ANALYSIS_OK;
}

/* ---- samples become points of one instance; a choice of them covers it evenly */

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

/* ---- which instances of a region have a usual duration, and which are similar */

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

void fold_result__free(struct fold_result *r)
{
	free(r->keep);
	free(r->curve);
	free(r->rate);
	fold_points__free(&r->points);
	fold_spline__free(&r->spline);
	*r = (struct fold_result){0};
}

/* Sum of counts by sum of durations, of the kept instances that have both. */
static double mean_rate(const struct fold_instance *instances, size_t n, const bool *keep)
{
	double count = 0, time = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fold_instance *in = &instances[i];

		if (!keep[i] || !(in->t1 > in->t0) || !(in->c1 > in->c0))
			continue;
		count += in->c1 - in->c0;
		time += in->t1 - in->t0;
	}
	return time > 0 ? count / time : NAN;
}

static enum analysis_status choose_instances(const struct fold_instance *instances, size_t n,
					     const struct fold_filter *f, struct fold_result *r)
{
	_cleanup_free_ double *dur = calloc(n + 1, sizeof(*dur));

	if (!dur)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		dur[i] = instances[i].t1 - instances[i].t0;
	return fold__outliers(dur, n, f, &r->range, r->keep);
}

static enum analysis_status make_room(struct fold_result *r, size_t m)
{
	r->curve = calloc(m + 1, sizeof(*r->curve));
	r->rate = calloc(m + 1, sizeof(*r->rate));
	r->validity = (struct fold_validity){0,	  NAN,	 NAN,	NAN, NAN, NAN, NAN,
					     NAN, false, false, NAN, NAN, NAN, NAN};
	if (!r->curve || !r->rate)
		return ANALYSIS_NO_MEMORY;
	for (size_t j = 0; j < m; j++)
		r->curve[j] = r->rate[j] = NAN;
	return m < 2 ? ANALYSIS_UNSUITABLE : ANALYSIS_OK;
}

static enum analysis_status fill_curve(size_t n, double nugget, size_t m, struct fold_result *r)
{
	const struct fold_points *p = &r->points;
	enum analysis_status status = fold__fit(p->x, p->y, p->n, nugget, &r->spline);

	fold_spline__curve(&r->spline, r->curve, m);
	fold__rate(r->curve, m, r->factor, r->rate);
	if (status != ANALYSIS_OK)
		return status;
	return fold__validity(p->x, p->y, p->n, &r->spline, n, r->range.kept, &r->validity);
}

/* Points without those of instances that are far from the curve of all. */
static enum analysis_status drop_far(const struct fold_instance *instances, size_t n,
				     const struct fold_options *o, struct fold_result *r)
{
	if (fold__prefilter(&r->points, o->nugget, o->far, r->keep, n) != ANALYSIS_OK)
		return ANALYSIS_OK; /* one instance alone is near itself */
	r->range.kept = 0;
	for (size_t i = 0; i < n; i++)
		r->range.kept += r->keep[i];
	fold_points__free(&r->points);
	return fold__points(instances, n, r->keep, &r->points);
}

enum analysis_status fold__region(const struct fold_instance *instances, size_t n,
				  const struct fold_options *o, size_t m, struct fold_result *r)
{
	enum analysis_status status;

	*r = (struct fold_result){
		.range = {NAN, NAN, NAN, NAN, 0},
		.factor = NAN,
		.keep = calloc(n + 1, sizeof(*r->keep)),
	};
	status = r->keep ? make_room(r, m) : ANALYSIS_NO_MEMORY;
	if (status == ANALYSIS_OK)
		status = choose_instances(instances, n, &o->filter, r);
	if (status == ANALYSIS_OK)
		status = fold__points(instances, n, r->keep, &r->points);
	if (status == ANALYSIS_OK && o->far > 0)
		status = drop_far(instances, n, o, r);
	if (status != ANALYSIS_OK)
		return status;
	r->factor = mean_rate(instances, n, r->keep);
	return fill_curve(n, o->nugget, m, r);
}

enum analysis_status fold__curve(struct fold_result *r, size_t n, double nugget, size_t m)
{
	enum analysis_status status = make_room(r, m);

	return status == ANALYSIS_OK ? fill_curve(n, nugget, m, r) : status;
}
