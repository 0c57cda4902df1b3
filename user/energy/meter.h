/* SPDX-License-Identifier: GPL-2.0-only */
/* Energy over intervals from one channel, whether it counts energy or gives power. */
#ifndef JP_ENERGY_METER_H
#define JP_ENERGY_METER_H

#include "sensor/core/sensor_set.h"

struct meter {
	bool started;
	double value;	  /* of the last new reading */
	uint64_t time_ns; /* and when that was */
	uint64_t gaps;
	double watts;	   /* between the last two new readings; NAN: not known */
	double reached;	   /* slow counters: what they are taken to have come to */
	uint64_t until_ns; /* where the last interval ended */
};

/*
 * J from the last call to now_ns; NAN: not known, as of the first call. A quick counter gives its
 * difference. A slow one, and power, are taken to go on as in their last reading; what a counter
 * then was otherwise is made good in the next interval, so that its sum stays true.
 */
double meter__take(struct meter *m, const struct channel_state *c, uint64_t now_ns);

#endif
