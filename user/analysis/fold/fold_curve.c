// SPDX-License-Identifier: GPL-2.0-only
/* Computes the curve of a folded region, and the rate along it. */
#include "analysis/fold/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum analysis_status fold__fit(const double *x, const double *y, size_t n, double nugget,
			       struct fold_spline *s)
{
	_cleanup_free_ double *xs = calloc(n + 2, sizeof(*xs)), *ys = calloc(n + 2, sizeof(*ys));
	size_t known = 0, inside = 0;
	bool zero = true;

	*s = (struct fold_spline){0};
	if (!xs || !ys)
		return ANALYSIS_NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || !isfinite(y[i]))
			continue;
		xs[known] = x[i];
		ys[known++] = y[i];
		inside += x[i] > 0 && x[i] < 1;
		zero = zero && y[i] == 0;
	}
	if (!inside)
		return ANALYSIS_INSUFFICIENT;
	xs[known] = ys[known] = 0;
	xs[known + 1] = 1;
	ys[known + 1] = zero ? 0 : 1;
	return fold_spline__fit(xs, ys, known + 2, nugget, s);
}

void fold_spline__curve(const struct fold_spline *s, double *curve, size_t m)
{
	for (size_t j = 0; j < m; j++) {
		double f = fold_spline__at(s, (double)j / (double)(m - 1));

		curve[j] = f < 0 ? 0 : f;
	}
}

enum analysis_status fold__krige(const double *x, const double *y, size_t n, double nugget,
				 double *curve, size_t m)
{
	struct fold_spline s = {0};
	enum analysis_status status = ANALYSIS_UNSUITABLE;

	if (m >= 2)
		status = fold__fit(x, y, n, nugget, &s);
	fold_spline__curve(&s, curve, m);
	fold_spline__free(&s);
	return status;
}

enum analysis_status fold__rate(const double *curve, size_t m, double factor, double *rate)
{
	double top;

	if (m < 2) {
		for (size_t j = 0; j < m; j++)
			rate[j] = NAN;
		return ANALYSIS_UNSUITABLE;
	}
	top = curve[0];
	for (size_t j = 1; j < m; j++) {
		rate[j] = factor * fmax(curve[j] - top, 0) * (double)(m - 1);
		top = fmax(top, curve[j]);
		if (isnan(curve[j]))
			rate[j] = NAN;
	}
	rate[0] = rate[1];
	return ANALYSIS_OK;
}
