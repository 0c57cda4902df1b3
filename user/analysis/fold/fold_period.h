/* SPDX-License-Identifier: GPL-2.0-only */
/* The period of a thread that iterates and has named no region, by the code that its samples
 * executed. */
#ifndef JP_ANALYSIS_FOLD_PERIOD_H
#define JP_ANALYSIS_FOLD_PERIOD_H

#include "analysis/fold/fold_trace.h"

struct fold_period {
	double period_s;
	double strength; /* of its frequency, as a multiple of what chance gives */
};

/*
 * The period that the codes of the samples have, from two intervals of the samples to half a
 * second; shorter ones cannot be told from longer ones. The power of each frequency is added up
 * over windows of 2 s, so that iterations need not all be of one length. ANALYSIS_INSUFFICIENT: too
 * few samples, or no period stands out.
 */
enum analysis_status fold_period__find(const struct fold_trace *t, struct fold_period *p);

/*
 * The iterations of that period, whose phase is followed from window to window. Where they begin is
 * a choice: shift, in periods, moves that. Returns how many there are in out[max].
 */
size_t fold_period__instances(const struct fold_trace *t, double period_s, double shift,
			      struct fold_instance *out, size_t max);

#endif
