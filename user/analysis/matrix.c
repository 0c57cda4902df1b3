/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quantities of several units over time: one value per bin for all units. */
#include "analysis/matrix.h"

#include <math.h>

double matrix__total(const struct matrix *m, unsigned bin)
{
	double sum = m->units ? 0 : NAN;

	for (unsigned u = 0; u < m->units; u++)
		sum += matrix__at(m, u, bin);
	return sum;
}

static unsigned count_known(const struct matrix *m, unsigned bin)
{
	unsigned known = 0;

	for (unsigned u = 0; u < m->units; u++)
		known += !isnan(matrix__at(m, u, bin));
	return known;
}

double matrix__sum_known(const struct matrix *m, unsigned bin)
{
	double sum = 0;

	for (unsigned u = 0; u < m->units; u++) {
		double v = matrix__at(m, u, bin);

		sum += isnan(v) ? 0 : v;
	}
	return count_known(m, bin) ? sum : NAN;
}

double matrix__mean_known(const struct matrix *m, unsigned bin)
{
	return matrix__sum_known(m, bin) / count_known(m, bin);
}
