/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a column over time, as equal bins. */
#include "analysis/analysis.h"

#include <math.h>
#include <stdlib.h>

/* Adds v, which holds over [from, to), to the bins it touches. */
static void spread_value(double from, double to, double v, double width, double *sum,
			 double *weight, unsigned n)
{
	unsigned first = from <= 0 ? 0 : from / width >= n ? n : from / width;

	for (unsigned b = first; b < n && b * width < to; b++) {
		double lo = b * width > from ? b * width : from;
		double hi = (b + 1) * width < to ? (b + 1) * width : to;

		if (hi <= lo)
			continue;
		sum[b] += v * (hi - lo);
		weight[b] += hi - lo;
	}
}

void time_bins__fill(const double *end_s, const double *v, uint64_t rows, double wall_s, bool rate,
		     double *bins, unsigned n)
{
	double *weight = calloc(n, sizeof(*weight));
	double from = 0;

	for (unsigned b = 0; b < n; b++)
		bins[b] = 0;
	for (uint64_t i = 0; weight && wall_s > 0 && isfinite(wall_s) && i < rows; i++) {
		/* Rows out of order are left out rather than believed. */
		if (!(end_s[i] > from) || !isfinite(end_s[i]))
			continue;
		if (isfinite(v[i]))
			spread_value(from, end_s[i], rate ? v[i] / (end_s[i] - from) : v[i],
				     wall_s / n, bins, weight, n);
		from = end_s[i];
	}
	for (unsigned b = 0; b < n; b++)
		bins[b] = weight && weight[b] > 0 ? bins[b] / weight[b] : NAN;
	free(weight);
}
