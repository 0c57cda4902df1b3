/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges the terms of a comparison by those of earlier runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/compare/compare.h"
#include "analysis/order.h"

#define MAD_TO_DEVIATION 1.4826 /* of normally distributed values */

static double median(double *v, size_t k)
{
	qsort(v, k, sizeof(*v), order__doubles);
	return k % 2 ? v[k / 2] : (v[k / 2 - 1] + v[k / 2]) / 2;
}

static void judge_value(struct compare_spread *s, double value, double *v, size_t k)
{
	s->median = median(v, k);
	for (size_t i = 0; i < k; i++)
		v[i] = fabs(v[i] - s->median);
	s->mad = MAD_TO_DEVIATION * median(v, k);
	if (k < COMPARE_RUNS_LEAST)
		return;
	s->z = value == s->median ? 0 : (value - s->median) / s->mad;
	s->is_unusual = fabs(s->z) > COMPARE_Z && fabs(value - s->median) > COMPARE_LEAST;
}

int compare__spread(struct compare_spread out[N_TERMS], const struct comparison *b,
		    const struct comparison *earlier, size_t k)
{
	double *v = malloc((k + 1) * sizeof(*v));

	for (int term = 0; v && term < N_TERMS; term++) {
		out[term] = (struct compare_spread){NAN, NAN, NAN, false};
		for (size_t i = 0; i < k; i++)
			v[i] = earlier[i].change[term].ln;
		if (k && b->change[term].is_in == (enum compare_term)term)
			judge_value(&out[term], b->change[term].ln, v, k);
	}
	free(v);
	return v ? 0 : -ENOMEM;
}
