// SPDX-License-Identifier: GPL-2.0-only
/* Folding without markers: iterations by the long waits between bursts. */
#include "analysis/fold/fold_train.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/order.h"
#include "base/cleanup.h"

#define APART 1.5  /* gaps of one kind and of another */
#define LEAST 10   /* iterations */
#define MOST  0.8  /* of the time is in usual ones, */
#define SHORT 0.5  /* which have this part of the median length, */
#define LONG  1.5  /* or that */
#define ALIKE 0.1  /* of a period that is known, or of iterations by longer gaps, */
#define MORE  1.05 /* and in usual ones is not more than so much of their time */

/* The lengths of the iterations, in order of length. Returns how many there are. */
static size_t lengths_of(const struct fold_wake *w, size_t n, double gap_s, double *length)
{
	double before = NAN;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(w[i].gap >= gap_s))
			continue;
		if (w[i].t > before)
			length[found++] = w[i].t - before;
		before = w[i].t;
	}
	qsort(length, found, sizeof(*length), order__doubles);
	return found;
}

/* The median length of iterations, if most are of about that; else NaN. *usual_s: the time in
 * usual ones. */
static double regular(const double *length, size_t n, double *usual_s)
{
	double median = n ? length[n / 2] : NAN, all = 0, usual = 0;

	for (size_t i = 0; i < n; i++) {
		all += length[i];
		if (length[i] >= SHORT * median && length[i] <= LONG * median)
			usual += length[i];
	}
	*usual_s = usual;
	return n >= LEAST && usual >= MOST * all ? median : NAN;
}

/* The gaps that are known and above 0, the shortest first. */
static size_t sort_gaps(const struct fold_wake *w, size_t n, double *gap)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (w[i].gap > 0)
			gap[known++] = w[i].gap;
	qsort(gap, known, sizeof(*gap), order__doubles);
	return known;
}

static bool is_wanted(double found, double period_s)
{
	return isnan(period_s) ? !isnan(found) : fabs(found - period_s) <= ALIKE * period_s;
}

/* Shorter gaps than those of a train tell other iterations, or more of them: a few gaps by chance
 * do not. */
static bool is_better(double found, double usual_s, const struct fold_train *t, double best_s)
{
	return isnan(t->period_s) || found < (1 - ALIKE) * t->period_s || usual_s > MORE * best_s;
}

enum analysis_status fold_train__find(const struct fold_wake *w, size_t n, double period_s,
				      struct fold_train *out)
{
	_cleanup_free_ double *gap = calloc(2 * n + 1, sizeof(*gap));
	double *length, best_s = 0;
	size_t known;

	*out = (struct fold_train){NAN, NAN};
	if (!gap)
		return ANALYSIS_NO_MEMORY;
	length = gap + n;
	known = sort_gaps(w, n, gap);
	for (size_t i = known > LEAST ? known - LEAST : 0; i-- > 0;) {
		double found, usual_s;

		if (i && gap[i] < APART * gap[i - 1])
			continue;
		found = regular(length, lengths_of(w, n, gap[i], length), &usual_s);
		if (!is_wanted(found, period_s) || !is_better(found, usual_s, out, best_s))
			continue;
		*out = (struct fold_train){gap[i], found};
		best_s = usual_s;
	}
	return isnan(out->gap_s) ? ANALYSIS_INSUFFICIENT : ANALYSIS_OK;
}

size_t fold_train__instances(const struct fold_wake *w, size_t n, const struct fold_train *t,
			     struct fold_instance *out, size_t max)
{
	double before = NAN;
	size_t found = 0;

	for (size_t i = 0; i < n && found < max; i++) {
		if (!(w[i].gap >= t->gap_s))
			continue;
		if (w[i].t > before)
			out[found++] = (struct fold_instance){.t0 = before, .t1 = w[i].t};
		before = w[i].t;
	}
	return found;
}
