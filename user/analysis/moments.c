// SPDX-License-Identifier: GPL-2.0-only
/* Reduces values to their number, mean, squared deviations and extremes. */
#include "analysis/reduce.h"

void moments__add(struct moments *m, double v)
{
	struct moments one = {1, v, 0, v, v};

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
	double na = (double)a->n, nb = (double)b->n, delta = b->mean - a->mean;

	if (!b->n)
		return;
	if (!a->n) {
		*a = *b;
		return;
	}
	a->mean += delta * (nb / (na + nb));
	a->m2 += b->m2 + delta * delta * (na * nb / (na + nb));
	a->min = fmin(a->min, b->min);
	a->max = fmax(a->max, b->max);
	a->n += b->n;
}

double moments__std(const struct moments *m)
{
	return m->n > 1 ? sqrt(m->m2 / (double)(m->n - 1)) : NAN;
}
