// SPDX-License-Identifier: GPL-2.0-or-later
/* Splits one amount of energy by weight, each share within its bounds. */
#include <math.h>

#include "energy/energy_internal.h"

/* A box constraint on a sum is met to this many joules per joule. */
#define SLACK 1e-12

static double weights(const struct portion *p, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += p[i].weight;
	return sum;
}

static void by_ratio(struct portion *p, unsigned n, double joules, double ratio)
{
	double all = weights(p, n);

	for (unsigned i = 0; i < n; i++) {
		double w = p[i].weight, rest = fmax(all - w, 0);

		p[i].low = w > 0 ? joules * w / (w + (rest > 0 ? rest * ratio : 0)) : 0;
		p[i].high = w > 0 ? joules * w / (w + rest / ratio) : 0;
	}
}

/* The bounds of one consumer by the power of a busy second, its own and the others'. */
static void power_bounds(const struct portion *p, const struct portion *all, double joules,
			 const struct portion_range *r, double *low, double *high)
{
	double least = r->pmin_w * p->busy_low_s, most = r->pmax_w * p->busy_high_s;

	*low = fmax(least, joules - (r->pmax_w * all->busy_high_s - most));
	*high = fmin(most, joules - (r->pmin_w * all->busy_low_s - least));
}

/* Narrows the bounds by power. Where both kinds contradict each other, either may hold. */
static bool by_power(struct portion *p, unsigned n, double joules, const struct portion_range *r)
{
	struct portion all = {0};
	double low = 0, high = 0, l, h;
	bool both = true;

	for (unsigned i = 0; i < n; i++) {
		all.busy_low_s += p[i].busy_low_s;
		all.busy_high_s += p[i].busy_high_s;
	}
	if (!(r->pmin_w * all.busy_low_s <= joules && joules <= r->pmax_w * all.busy_high_s))
		return false;
	for (unsigned i = 0; i < n; i++) {
		power_bounds(&p[i], &all, joules, r, &l, &h);
		both = both && fmax(l, p[i].low) <= fmin(h, p[i].high);
		low += fmax(l, p[i].low);
		high += fmin(h, p[i].high);
	}
	both = both && low <= joules && joules <= high;
	for (unsigned i = 0; i < n; i++) {
		power_bounds(&p[i], &all, joules, r, &l, &h);
		p[i].low = both ? fmax(l, p[i].low) : fmin(l, p[i].low);
		p[i].high = both ? fmin(h, p[i].high) : fmax(h, p[i].high);
	}
	return true;
}

/* Takes off what the others have at least, which the intersection of two ranges need not respect.
 */
static void tighten_bounds(struct portion *p, unsigned n, double joules)
{
	double low = 0, high = 0;

	for (unsigned i = 0; i < n; i++) {
		low += p[i].low;
		high += p[i].high;
	}
	for (unsigned i = 0; i < n; i++) {
		double l = p[i].low, h = p[i].high;

		p[i].low = fmin(fmax(l, joules - (high - h)), h);
		p[i].high = fmax(fmin(h, joules - (low - l)), p[i].low);
	}
}

static double sum_at(struct portion *p, unsigned n, double scale)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		p[i].point = fmin(fmax(scale * p[i].weight, p[i].low), p[i].high);
		sum += p[i].point;
	}
	return sum;
}

/* Energy per weight that makes the sum right when each keeps within its bounds: the sum grows with
 * it, so halving finds it. */
static void fill_within_bounds(struct portion *p, unsigned n, double joules)
{
	double from = 0, to = 0, sum;

	for (unsigned i = 0; i < n; i++)
		if (p[i].weight > 0)
			to = fmax(to, p[i].high / p[i].weight);
	for (unsigned i = 0; i < 200 && to - from > SLACK * to; i++) {
		double mid = from + (to - from) / 2;

		if (sum_at(p, n, mid) < joules)
			from = mid;
		else
			to = mid;
	}
	sum = sum_at(p, n, to);
	for (unsigned i = 0; sum > 0 && i < n; i++)
		p[i].point *= joules / sum;
}

static bool within(const struct portion *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (p[i].point < p[i].low || p[i].point > p[i].high)
			return false;
	return true;
}

double portion__split(struct portion *p, unsigned n, double joules,
		      const struct portion_range *range)
{
	double all = weights(p, n);

	for (unsigned i = 0; i < n; i++)
		p[i].point = all > 0 ? joules * p[i].weight / all : 0;
	by_ratio(p, n, joules, range->ratio);
	if (!(all > 0))
		return joules;
	if (isnan(range->pmin_w) || isnan(range->pmax_w))
		return 0;
	if (!by_power(p, n, joules, range))
		return 0;
	tighten_bounds(p, n, joules);
	if (!within(p, n))
		fill_within_bounds(p, n, joules);
	return 0;
}
