/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sum, maximum, mean and last value of a column. */
#include "analysis/analysis.h"

#include <math.h>
#include <string.h>

/* Returns how many values are known. */
static uint64_t add_column(const struct model_table *t, const char *column, double *sum)
{
	const double *v = model_table__column(t, column);
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

static bool is_event(const struct model_table *t, const char *column)
{
	for (unsigned c = 0; c < t->ncols; c++)
		if (!strcmp(t->cols[c].name, column))
			return t->cols[c].kind == COL_DELTA &&
			       model_table__family(t, c) == FAM_PERF;
	return false;
}

/* All CPU time by that of the rows which have the column: an event of a set that is not always open
 * is not counted in all. 1 where that is not known. */
static double uncounted_factor(const struct model_table *t, const char *column)
{
	const double *v = model_table__column(t, column), *cpu = model_table__column(t, "CPUTime");
	double counted = 0, all = 0;

	for (uint64_t i = 0; cpu && i < t->nrows; i++) {
		double s = isnan(cpu[i]) ? 0 : cpu[i];

		all += s;
		counted += isnan(v[i]) ? 0 : s;
	}
	return counted > 0 ? all / counted : 1;
}

double column_stats__sum(const struct model_table *t, const char *column)
{
	double sum;
	uint64_t n = add_column(t, column, &sum);

	if (!n)
		return NAN;
	return n < t->nrows && is_event(t, column) ? sum * uncounted_factor(t, column) : sum;
}

double column_stats__mean(const struct model_table *t, const char *column)
{
	double sum;
	uint64_t n = add_column(t, column, &sum);

	return n ? sum / n : NAN;
}

double column_stats__max(const struct model_table *t, const char *column)
{
	const double *v = model_table__column(t, column);
	double max = NAN;

	for (uint64_t i = 0; v && i < t->nrows; i++)
		if (isnan(max) || v[i] > max)
			max = v[i];
	return max;
}

double column_stats__last(const struct model_table *t, const char *column)
{
	const double *v = model_table__column(t, column);

	for (uint64_t i = v ? t->nrows : 0; i-- > 0;)
		if (!isnan(v[i]))
			return v[i];
	return NAN;
}

bool column_stats__is_unknown(const struct model_table *t, unsigned column)
{
	for (uint64_t i = 0; i < t->nrows; i++)
		if (!isnan(t->values[column * t->nrows + i]))
			return false;
	return t->nrows > 0;
}
