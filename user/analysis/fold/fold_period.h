/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the iterations of a thread whose program names no region: by the code of its samples, or by
 * its bursts where each iteration ends with a long wait. */
#ifndef JP_ANALYSIS_FOLD_PERIOD_H
#define JP_ANALYSIS_FOLD_PERIOD_H

#include "analysis/fold/fold_trace.h"

struct fold_period {
	double period_s;
	double strength; /* of its frequency, as a multiple of what chance gives */
	double window_s; /* length of the pieces of time in which it was searched */
};

/*
 * Finds the period with which the codes of the samples repeat, where time off the CPU counts as a
 * code: the shortest one from 10 ms to 64 s, or up to 8 times that one if the codes repeat only
 * then. With samples at equal intervals a shorter period would look like a longer one; so the
 * intervals must change about four times a second, and the result is the period of most windows.
 * The power of each frequency is added up over windows of 2 s, or of 4 to 8 periods, so that
 * iterations need not all be of one length. ANALYSIS_INSUFFICIENT: fewer than 5 windows of 2 s, or
 * four longer ones, the intervals are all alike, or no period stands out.
 */
enum analysis_status fold_period__find(const struct fold_trace *t, struct fold_period *p);

/*
 * Puts the iterations of that period into out; their phase is followed from window to window. Where
 * in the period they begin is arbitrary: shift, in periods, moves it. Returns how many there are in
 * out[max].
 */
size_t fold_period__instances(const struct fold_trace *t, const struct fold_period *p, double shift,
			      struct fold_instance *out, size_t max);

/* A burst of a thread: when it began, and how long the thread had been blocked; NaN: not known. */
struct fold_wake {
	double t, gap;
};

/* Iterations that begin with every burst after a gap of gap_s or longer. */
struct fold_train {
	double gap_s;
	double period_s; /* the median of their lengths */
};

/*
 * Finds the iterations of n bursts in time order. Sorted gaps are divided into long and short ones
 * wherever one is at least 1.5 times the next shorter one: each such place may separate the gaps
 * between iterations from those inside. Iterations are found where there are ten or more, and four
 * fifths of the time lie in those of half to one and a half times the median length: waits that
 * come by chance, with exponential distances, have a quarter of it there. Of several such places
 * the one with the shortest iterations is taken, and where these are equal the one with the longest
 * gaps; where period_s is known (else NaN), the one whose iterations have that length to a tenth.
 * ANALYSIS_INSUFFICIENT: there is none.
 */
enum analysis_status fold_train__find(const struct fold_wake *w, size_t n, double period_s,
				      struct fold_train *out);

/* Returns how many iterations there are in out[max]. The last one has no end, and is left out. */
size_t fold_train__instances(const struct fold_wake *w, size_t n, const struct fold_train *t,
			     struct fold_instance *out, size_t max);

#endif
