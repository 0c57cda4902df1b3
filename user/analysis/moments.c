/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reduces values to their number, sum, sum of squares and extremes. */
#include "analysis/reduce.h"

#include <math.h>

#include "analysis/wide.h"

/* ---- computes with numbers of two doubles */

/* a + b, exactly. */
static struct wide sum_of(double a, double b)
{
	double s = a + b, of_b = s - a;

	return (struct wide){s, (a - (s - of_b)) + (b - of_b)};
}

/* a * b, exactly. */
static struct wide product_of(double a, double b)
{
	double p = a * b;

	return (struct wide){p, fma(a, b, -p)};
}

/* The square of a double, exactly. */
static struct wide wide_square_of(double v)
{
	return product_of(v, v);
}

static struct wide wide_add(struct wide a, struct wide b)
{
	struct wide hi = sum_of(a.hi, b.hi), lo = sum_of(a.lo, b.lo);

	hi = sum_of(hi.hi, hi.lo + lo.hi);
	return sum_of(hi.hi, hi.lo + lo.lo);
}

static struct wide wide_subtract(struct wide a, struct wide b)
{
	return wide_add(a, (struct wide){-b.hi, -b.lo});
}

static struct wide wide_multiply(struct wide a, struct wide b)
{
	struct wide p = product_of(a.hi, b.hi);

	return sum_of(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static struct wide wide_divide(struct wide a, double b)
{
	double first = a.hi / b;
	struct wide left = wide_subtract(a, product_of(first, b));
	double second = left.hi / b;

	left = wide_subtract(left, product_of(second, b));
	return wide_add(sum_of(first, second), (struct wide){left.hi / b, 0});
}

void moments__add(struct moments *m, double v)
{
	struct moments one = {1, {v, 0}, wide_square_of(v), v, v};

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
	a->sum = wide_add(a->sum, b->sum);
	a->squares = wide_add(a->squares, b->squares);
	a->min = fmin(a->min, b->min);
	a->max = fmax(a->max, b->max);
	a->n += b->n;
}

double moments__mean(const struct moments *m)
{
	return m->n ? wide_divide(m->sum, (double)m->n).hi : NAN;
}

double moments__m2(const struct moments *m)
{
	struct wide of_mean;

	if (!m->n || m->min == m->max)
		return 0;
	of_mean = wide_divide(wide_multiply(m->sum, m->sum), (double)m->n);
	return fmax(wide_subtract(m->squares, of_mean).hi, 0);
}

double moments__std(const struct moments *m)
{
	return m->n > 1 ? sqrt(moments__m2(m) / (double)(m->n - 1)) : NAN;
}
