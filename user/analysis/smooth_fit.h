/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Least squares where each unknown is at least 0, and neighbours are alike as far as the equations
 *leave them undetermined: minimises sum over equations (e x - y)^2 + lambda * sum (x[i + 1] -
 *x[i])^2, x >= 0 lambda is chosen by generalised cross-validation (P. Craven, G. Wahba, "Smoothing
 *noisy data with spline functions", 1979) with the degrees of freedom times 1.4, against too little
 *smoothing (Y.-J. Kim, C. Gu, "Smoothing spline Gaussian regression", 2004).
 */
#ifndef JP_ANALYSIS_SMOOTH_FIT_H
#define JP_ANALYSIS_SMOOTH_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/status.h"

struct smooth_fit {
	size_t n;	/* unknowns */
	size_t nsmooth; /* the first nsmooth unknowns are alike to their neighbours */
	size_t rows;	/* equations */
	double *normal; /* n x n, the lower triangle: sum of e e' */
	double *right;	/* n: sum of e y */
	double squares; /* sum of y^2 */
};

/* Returns false without memory. */
bool smooth_fit__init(struct smooth_fit *f, size_t n, size_t nsmooth);
void smooth_fit__free(struct smooth_fit *f);

/* One equation: e[0..n-1] times the unknowns is y. */
void smooth_fit__add(struct smooth_fit *f, const double *e, double y);

/* Sets x[0..n-1]. An unknown that is in no equation, and has no neighbours, is 0.
 * ANALYSIS_INSUFFICIENT: no equation. */
enum analysis_status smooth_fit__solve(const struct smooth_fit *f, double *x);

#endif
