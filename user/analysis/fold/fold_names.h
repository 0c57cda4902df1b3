/* SPDX-License-Identifier: GPL-2.0-only */
/* Which function a phase of a folded region is in. */
#ifndef JP_ANALYSIS_FOLD_NAMES_H
#define JP_ANALYSIS_FOLD_NAMES_H

#include "analysis/fold/folded.h"

/* Gives each phase the function that most of its samples were in, and the share of these samples. A
 * phase next to another phase of the same function also has its place in the function. x[n],
 * code[n]: all samples. False: no memory. */
bool fold_names__phases(struct folded *f, const double *x, const uint64_t *code, size_t n);

/* By how much a function's part of the n samples, at x, and its phases differ, at most; NaN: not
 * known. */
double fold_names__misplaced(const struct folded *f, const double *x, const uint64_t *code,
			     size_t n);

#endif
