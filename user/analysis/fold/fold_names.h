/* SPDX-License-Identifier: GPL-2.0-only */
/* Which function a phase of a folded region is in. */
#ifndef JP_ANALYSIS_FOLD_NAMES_H
#define JP_ANALYSIS_FOLD_NAMES_H

#include "analysis/fold/folded.h"

/* Gives each phase the function with most of its n samples, at x, and that one's share. A phase
 * next to another of its function keeps the place in it. False: no memory. */
bool fold_names__phases(struct folded *f, const double *x, const uint64_t *code, size_t n);

/* By how much a function's part of the n samples, at x, and its phases differ, at most; NaN: not
 * known. */
double fold_names__misplaced(const struct folded *f, const double *x, const uint64_t *code,
			     size_t n);

#endif
