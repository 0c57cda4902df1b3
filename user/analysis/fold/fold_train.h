/* SPDX-License-Identifier: GPL-2.0-only */
/* The iterations of a thread that has named no region, by its bursts: each ends with a long wait.
 */
#ifndef JP_ANALYSIS_FOLD_TRAIN_H
#define JP_ANALYSIS_FOLD_TRAIN_H

#include "analysis/fold/fold_trace.h"

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
