/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The iterations of a thread that has named no region: by the code that its samples executed, or by
 * its bursts, where each iteration ends with a long wait. */
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
 * Finds the iterations of n bursts in time order. A gap is long or not where for a factor of 1.5
 * there is no other one between: each such place may be the one that tells iterations from what is
 * in them. Iterations are found where there are ten or more, and four fifths of the time lie in
 * those of half to one and a half times the median length: waits that come by chance, with
 * exponential distances, have a quarter of it there. Of several such places the one with the
 * shortest iterations is taken, of those with the same ones that with the longest gaps, or, where
 * period_s is known (else NaN), with those of that length to a tenth. ANALYSIS_INSUFFICIENT: there
 * is none.
 */
enum analysis_status fold_train__find(const struct fold_wake *w, size_t n, double period_s,
				      struct fold_train *out);

/* Returns how many iterations there are in out[max]. The last one has no end, and is left out. */
size_t fold_train__instances(const struct fold_wake *w, size_t n, const struct fold_train *t,
			     struct fold_instance *out, size_t max);

#endif
