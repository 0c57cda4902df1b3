/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of latencies: sums of their buckets, and quantiles. */
#include "analysis/analysis.h"

#include <math.h>
#include <stdio.h>

/* Sums of the columns <prefix>0..<prefix>39; returns how many values they count in all. */
static double sum_buckets(const struct model_table *t, char prefix, double counts[JP_LAT_BUCKETS])
{
	double all = 0;

	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		char name[8];
		double n;

		snprintf(name, sizeof(name), "%c%u", prefix, k);
		n = column_stats__sum(t, name);
		counts[k] = n > 0 && isfinite(n) ? n : 0;
		all += counts[k];
	}
	return all;
}

double histogram__sum(const struct model_task *t, const char *series, char prefix, char less,
		      double counts[JP_LAT_BUCKETS])
{
	const struct series *s = series__find(series);
	const struct model_table *table =
		s && t->histograms ? &t->histograms[s - builtin_series] : NULL;
	double without[JP_LAT_BUCKETS], n;

	if (!table || !table->cols)
		return NAN;
	n = sum_buckets(table, prefix, counts);
	if (!less)
		return n;
	n = 0;
	sum_buckets(table, less, without);
	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		counts[k] = counts[k] > without[k] ? counts[k] - without[k] : 0;
		n += counts[k];
	}
	return n;
}

double histogram__quantile_ns(const double counts[JP_LAT_BUCKETS], double q)
{
	double all = 0, below = 0, bound = NAN;

	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++)
		all += counts[k];
	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		if (!counts[k])
			continue;
		below += counts[k];
		bound = ldexp(1, k + 1);
		if (below >= q * all)
			break;
	}
	return bound;
}
