// SPDX-License-Identifier: GPL-2.0-only
/* Reduces values to their number, sum, sum of squares and extremes. */
#include "analysis/reduce.h"

void moments__add(struct moments *m, double v)
{
	struct moments one = {1, {v, 0}, wide__square_of(v), v, v};

	if (!isnan(v))
		moments__merge(m, &one);
}

void moments__add_all(struct moments *m, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		moments__add(m, v[i]);
}

void moments__merge(struct moments *a, const struct moments *b)
{
	a->sum = wide__add(a->sum, b->sum);
	a->squares = wide__add(a->squares, b->squares);
	a->min = fmin(a->min, b->min);
	a->max = fmax(a->max, b->max);
	a->n += b->n;
}

double moments__mean(const struct moments *m)
{
	return m->n ? wide__divide(m->sum, (double)m->n).hi : NAN;
}

double moments__m2(const struct moments *m)
{
	struct wide of_mean;

	if (!m->n || m->min == m->max)
		return 0;
	of_mean = wide__divide(wide__multiply(m->sum, m->sum), (double)m->n);
	return fmax(wide__subtract(m->squares, of_mean).hi, 0);
}

double moments__std(const struct moments *m)
{
	return m->n > 1 ? sqrt(moments__m2(m) / (double)(m->n - 1)) : NAN;
}
