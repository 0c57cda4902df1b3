/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A quantity of several units (cores, GPUs, nodes, servers) over time. */
#ifndef JP_ANALYSIS_MATRIX_H
#define JP_ANALYSIS_MATRIX_H

#include <stddef.h>

/* Bin b of unit u is v[u * bins + b]; NaN: not known. The caller owns the values. */
struct matrix {
	unsigned units, bins;
	const double *v;
};

static inline double matrix__at(const struct matrix *m, unsigned unit, unsigned bin)
{
	return m->v[(size_t)unit * m->bins + bin];
}

/* The sum of all units in a bin; NaN: one is not known. */
double matrix__total(const struct matrix *m, unsigned bin);
/* The sum and the mean of the units that are known in a bin; NaN: none is. */
double matrix__sum_known(const struct matrix *m, unsigned bin);
double matrix__mean_known(const struct matrix *m, unsigned bin);

#endif
