// SPDX-License-Identifier: GPL-2.0-only
#include "fuse/energy_lag.h"

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
