// SPDX-License-Identifier: GPL-2.0-only
/* Folding from end to end: instances with samples become a curve, a rate and their validity. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

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
