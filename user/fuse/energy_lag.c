// SPDX-License-Identifier: GPL-2.0-only
#include "fuse/energy_lag.h"

#include <math.h>

void energy_lag__add(struct energy_lag *lag, double seconds, double watts)
{
	lag->past[lag->next].seconds = seconds;
	lag->past[lag->next].watts = watts;
	lag->next = (lag->next + 1) % LAG_KEPT;
	if (lag->n < LAG_KEPT)
		lag->n++;
}

/* Largest difference from the last interval, within late_s before its end. */
static double change(const struct energy_lag *lag, double late_s)
{
	double most = 0, age = 0, last = NAN;

	for (unsigned i = 1; i <= lag->n && age < late_s; i++) {
		unsigned at = (lag->next + LAG_KEPT - i) % LAG_KEPT;

		if (isnan(last))
			last = lag->past[at].watts;
		most = fmax(most, fabs(lag->past[at].watts - last)); /* NAN: left out */
		age += lag->past[at].seconds;
	}
	return most;
}

double energy_lag__off(const struct energy_lag *lag, double step, double late_s)
{
	unsigned last = (lag->next + LAG_KEPT - 1) % LAG_KEPT;

	return lag->n ? hypot(step / 2, change(lag, late_s)) * lag->past[last].seconds : 0;
}
