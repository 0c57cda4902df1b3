/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far off the power of a node is that a slow sensor gave. Such a sensor averages over a time
 * and gives the value late: while power changes, the value belongs to another moment. The change
 * itself is seen by the quick sensors.
 */
#ifndef JP_ENERGY_ENERGY_LAG_H
#define JP_ENERGY_ENERGY_LAG_H

#define LAG_KEPT 64 /* intervals that are looked back on at most */

struct energy_lag {
	struct {
		double seconds, quick_w, slow_w;
	} past[LAG_KEPT];
	unsigned n, next;
};

/* Adds an interval: its seconds, the power that the quick sensors (packages, DRAM, GPUs) measured,
 * and the last value of the slow sensor, W. NAN: not known. */
void energy_lag__add(struct energy_lag *lag, double seconds, double quick_w, double slow_w);

/*
 * J for energy_input.node_off: step is what the slow sensor's numbers go by, W; late_s the time
 * from the oldest moment that is in its value to now: period + averaging + lag. In quadrature half
 * a step and how far power in that time was from what it was in the last interval: as quick sensors
 * saw it or, since fans and losses are in none of them, as the slow one did, whichever is more.
 */
double energy_lag__off(const struct energy_lag *lag, double step, double late_s);

/*
 * How long after the quick sensors the slow one shows a change, s: the shift at which the two agree
 * best (Pearson's correlation, LAG_SURE at least), in whole intervals. NAN: not known,
 * because LAG_KEPT intervals with both are not there yet, they are not of one length, or
 * power was too steady.
 */
double energy_lag__find(const struct energy_lag *lag);
#define LAG_SURE 0.8

#endif
