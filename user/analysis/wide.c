/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes with numbers of two doubles. */
#include "analysis/wide.h"

#include <math.h>

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

struct wide wide__square_of(double v)
{
	return product_of(v, v);
}

struct wide wide__add(struct wide a, struct wide b)
{
	struct wide hi = sum_of(a.hi, b.hi), lo = sum_of(a.lo, b.lo);

	hi = sum_of(hi.hi, hi.lo + lo.hi);
	return sum_of(hi.hi, hi.lo + lo.lo);
}

struct wide wide__subtract(struct wide a, struct wide b)
{
	return wide__add(a, (struct wide){-b.hi, -b.lo});
}

struct wide wide__multiply(struct wide a, struct wide b)
{
	struct wide p = product_of(a.hi, b.hi);

	return sum_of(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

struct wide wide__divide(struct wide a, double b)
{
	double first = a.hi / b;
	struct wide left = wide__subtract(a, product_of(first, b));
	double second = left.hi / b;

	left = wide__subtract(left, product_of(second, b));
	return wide__add(sum_of(first, second), (struct wide){left.hi / b, 0});
}
