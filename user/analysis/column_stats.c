/* SPDX-License-Identifier: GPL-2.0-only */
/* Sum, maximum, mean and last value of a column. */
#include "analysis/analysis.h"

#include <math.h>

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

double column_stats__sum(const struct model_table *t, const char *column)
{
	double sum;

	return add_column(t, column, &sum) ? sum : NAN;
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
