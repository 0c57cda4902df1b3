// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds how late a slow sensor of the node is, by comparing it with the quick ones. */
#include "energy/energy_lag.h"

#include <math.h>

void energy_lag__add(struct energy_lag *lag, double seconds, double quick_w, double slow_w)
{
	lag->past[lag->next].seconds = seconds;
	lag->past[lag->next].quick_w = quick_w;
	lag->past[lag->next].slow_w = slow_w;
	lag->next = (lag->next + 1) % LAG_KEPT;
	if (lag->n < LAG_KEPT)
		lag->n++;
}

double energy_lag__off(const struct energy_lag *lag, double step, double late_s)
{
	unsigned last = (lag->next + LAG_KEPT - 1) % LAG_KEPT, at;
	double quick = 0, slow = 0, age = 0;

	for (unsigned i = 0; i < lag->n && age < late_s; i++) {
		at = (last + LAG_KEPT - i) % LAG_KEPT;
		age += lag->past[at].seconds;
		/* what is not known is left out */
		quick = fmax(quick, fabs(lag->past[at].quick_w - lag->past[last].quick_w));
		slow = fmax(slow, fabs(lag->past[at].slow_w - lag->past[last].slow_w));
	}
	return lag->n ? hypot(step / 2, fmax(quick, slow)) * lag->past[last].seconds : 0;
}

#define SHIFTS 32
#define STEADY 0.03 /* of the mean: values that vary less than that correlate with anything */
#define UNEVEN 1.5  /* between the longest and the shortest interval */

_Static_assert(SHIFTS <= LAG_KEPT / 2, "as many are compared at each shift");

/* Index of the interval that was i intervals ago. */
static unsigned ago(const struct energy_lag *lag, unsigned i)
{
	return (lag->next + 2 * LAG_KEPT - 1 - i) % LAG_KEPT;
}

/* Between the slow sensor's values and the quick sensors' of shift intervals before; NAN: the
 * values are too steady. */
static double correlation(const struct energy_lag *lag, unsigned shift)
{
	double n = LAG_KEPT - SHIFTS, x = 0, y = 0, xx = 0, yy = 0, xy = 0, vx, vy;

	for (unsigned i = 0; i < LAG_KEPT - SHIFTS; i++) {
		double q = lag->past[ago(lag, i + shift)].quick_w;
		double s = lag->past[ago(lag, i)].slow_w;

		x += q;
		y += s;
		xx += q * q;
		yy += s * s;
		xy += q * s;
	}
	vx = xx / n - x / n * (x / n);
	vy = yy / n - y / n * (y / n);
	if (!(sqrt(fmax(vx, 0)) > STEADY * x / n && sqrt(fmax(vy, 0)) > STEADY * y / n))
		return NAN;
	return (xy / n - x / n * (y / n)) / sqrt(vx * vy);
}

double energy_lag__find(const struct energy_lag *lag)
{
	double shortest = INFINITY, longest = 0, sum = 0, best = LAG_SURE, found = NAN;

	if (lag->n < LAG_KEPT)
		return NAN;
	for (unsigned i = 0; i < LAG_KEPT; i++) {
		if (isnan(lag->past[i].quick_w) || isnan(lag->past[i].slow_w))
			return NAN;
		shortest = fmin(shortest, lag->past[i].seconds);
		longest = fmax(longest, lag->past[i].seconds);
		sum += lag->past[i].seconds;
	}
	if (longest > UNEVEN * shortest)
		return NAN;
	for (unsigned shift = 0; shift < SHIFTS; shift++) {
		double c = correlation(lag, shift);

		if (!(c > best))
			continue;
		best = c;
		found = shift * sum / LAG_KEPT;
	}
	return found;
}
