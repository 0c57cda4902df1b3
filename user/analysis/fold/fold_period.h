/* SPDX-License-Identifier: GPL-2.0-only */
/* The period of a thread that iterates and has named no region, by the code that its samples
 * executed. */
#ifndef JP_ANALYSIS_FOLD_PERIOD_H
#define JP_ANALYSIS_FOLD_PERIOD_H

#include "analysis/fold/fold_trace.h"

struct fold_period {
	double period_s;
	double strength; /* of its frequency, as a multiple of what chance gives */
	double window_s; /* pieces of the thread's time in which it was looked for */
};

/*
 * The period that the codes of the samples have, of which time off the CPU is one: the shortest one
 * from 10 ms to 64 s, or up to 8 times that one if the codes repeat only then. Of samples that came
 * at equal intervals a shorter period would look like a longer one: the intervals must change
 * four times a second or so, and the period that of most windows. The power of each frequency is
 * added up over windows of 2 s, or of 4 to 8 periods, so that iterations need not all be of one
 * length. ANALYSIS_INSUFFICIENT: fewer than 5 windows of 2 s, or four longer ones, the intervals
 * are all alike, or no period stands out.
 */
enum analysis_status fold_period__find(const struct fold_trace *t, struct fold_period *p);

/*
 * The iterations of that period, whose phase is followed from window to window. Where they begin is
 * a choice: shift, in periods, moves that. Returns how many there are in out[max].
 */
size_t fold_period__instances(const struct fold_trace *t, const struct fold_period *p, double shift,
			      struct fold_instance *out, size_t max);

#endif
