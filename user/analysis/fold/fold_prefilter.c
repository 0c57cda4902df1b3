// SPDX-License-Identifier: GPL-2.0-only
/* Folding: instances whose points lie far from the curve of all are left out. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

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
