/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy over intervals from one channel, whether it counts energy or gives power. */
#ifndef JP_ENERGY_METER_H
#define JP_ENERGY_METER_H

#include "sensor/core/sensor_set.h"

struct meter {
	bool started;
	double value;	  /* value of the last new reading */
	uint64_t time_ns; /* when that was */
	uint64_t gaps;
	double watts;	   /* between the last two new readings; NAN: not known */
	double reached;	   /* slow counters: the value that they are assumed to have now */
	uint64_t until_ns; /* where the last interval ended */
};

/*
 * J from the last call to now_ns; NAN: not known, as in the first call. A quick counter gives its
 * difference. A slow counter, and a power, are assumed to go on as in the last reading; the next
 * interval corrects the error of this, so that sums of a counter stay exact.
 */
double meter__take(struct meter *m, const struct channel_state *c, uint64_t now_ns);

#endif
