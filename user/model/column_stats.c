/* SPDX-License-Identifier: GPL-2.0-only */
#include "model/column_stats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns how many values are known. */
static uint64_t add_up(const struct table *t, const char *column, double *sum)
{
	const double *v = t ? table__column(t, column) : NULL;
	uint64_t n = 0;

	*sum = 0;
	for (uint64_t i = 0; v && i < t->nrows; i++) {
		if (isnan(v[i]))
			continue;
		*sum += v[i];
		n++;
	}
	return n;
}

double calc__sum(const struct table *t, const char *column)
{
	double sum;

	return add_up(t, column, &sum) ? sum : NAN;
}

double calc__mean(const struct table *t, const char *column)
{
	double sum;
	uint64_t n = add_up(t, column, &sum);

	return n ? sum / n : NAN;
}

double calc__max(const struct table *t, const char *column)
{
	const double *v = t ? table__column(t, column) : NULL;
	double max = NAN;

	for (uint64_t i = 0; v && i < t->nrows; i++)
		if (isnan(max) || v[i] > max)
			max = v[i];
	return max;
}

double calc__last(const struct table *t, const char *column)
{
	const double *v = t ? table__column(t, column) : NULL;

	for (uint64_t i = v ? t->nrows : 0; i-- > 0;)
		if (!isnan(v[i]))
			return v[i];
	return NAN;
}

double *calc__times(const struct table *t, double start_ns)
{
	const double *ns = table__column(t, "TimeNS"), *s = table__column(t, "ElapsedTime");
	bool exact = ns && !isnan(start_ns);
	const double *from = exact ? ns : s;
	double *end;

	if (!t->nrows || !from)
		return NULL;
	end = calloc(t->nrows, sizeof(*end));
	for (uint64_t i = 0; end && i < t->nrows; i++)
		end[i] = exact ? (from[i] - start_ns) / 1e9 : from[i];
	return end;
}

/* Adds v, which holds over [from, to), to the bins it touches. */
static void spread(double from, double to, double v, double width, double *sum, double *weight,
		   unsigned n)
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

void calc__bins(const double *end, const double *v, uint64_t rows, double wall, bool rate,
		double *bins, unsigned n)
{
	double *weight = calloc(n, sizeof(*weight));
	double from = 0;

	for (unsigned b = 0; b < n; b++)
		bins[b] = 0;
	for (uint64_t i = 0; weight && wall > 0 && isfinite(wall) && i < rows; i++) {
		/* Rows out of order are left out rather than believed. */
		if (!(end[i] > from) || !isfinite(end[i]))
			continue;
		if (isfinite(v[i]))
			spread(from, end[i], rate ? v[i] / (end[i] - from) : v[i], wall / n, bins,
			       weight, n);
		from = end[i];
	}
	for (unsigned b = 0; b < n; b++)
		bins[b] = weight && weight[b] > 0 ? bins[b] / weight[b] : NAN;
	free(weight);
}

double calc__histogram(const struct table *t, char prefix, double counts[JP_LAT_BUCKETS])
{
	double all = 0;

	for (unsigned k = 0; k < JP_LAT_BUCKETS; k++) {
		char name[8];
		double n;

		snprintf(name, sizeof(name), "%c%u", prefix, k);
		n = calc__sum(t, name);
		counts[k] = n > 0 && isfinite(n) ? n : 0;
		all += counts[k];
	}
	return all;
}

double calc__quantile(const double counts[JP_LAT_BUCKETS], double q)
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

unsigned calc__cpu_count(const char *list)
{
	unsigned long n = 0;
	char *end;

	if (isdigit((unsigned char)*list)) {
		unsigned long alone = strtoul(list, &end, 10);

		if (!*end)
			return alone <= 65536 ? alone : 0;
	}
	for (;; list = end + 1) {
		unsigned long from, to;

		if (!isdigit((unsigned char)*list))
			return 0;
		from = to = strtoul(list, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		if (to < from || to - from >= 65536)
			return 0;
		n += to - from + 1;
		if (!*end)
			return n <= 65536 ? n : 0;
		if (*end != ',')
			return 0;
	}
}
