/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error of a node's power by a slow sensor. Such a sensor averages over a time and gives the
 * value late: while power changes, the value belongs to another moment. The quick sensors see the
 * change itself.
 */
#ifndef JP_ENERGY_ENERGY_LAG_H
#define JP_ENERGY_ENERGY_LAG_H

#define LAG_KEPT 64 /* intervals that are stored at most */

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
 * The error for energy_input.node_off, J. step: the resolution of the slow sensor, W; late_s: the
 * age of the oldest moment in its value: period + averaging + lag. The error adds in quadrature
 * half a step, and how far power in that time was from that of the last interval: by the quick
 * sensors or by the slow one, whichever is more, because fans and losses are in none of the quick
 * ones.
 */
double energy_lag__off(const struct energy_lag *lag, double step, double late_s);

/*
 * How long after the quick sensors the slow one shows a change, s: the shift at which the two agree
 * best (Pearson's correlation, LAG_SURE at least), in whole intervals. NAN: not known, because
 * there are not yet LAG_KEPT intervals with both, their lengths differ, or power was too steady.
 */
double energy_lag__find(const struct energy_lag *lag);
#define LAG_SURE 0.8

#endif
