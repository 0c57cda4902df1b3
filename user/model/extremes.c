/* SPDX-License-Identifier: GPL-2.0-only */
/* The lowest and the highest row of each bin. */
#include "model/extremes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/binned.h"

/* view/report/report_series.c draws these. */
static const enum quantity drawn[EXTREMES] = {
	Q_CPU,	  Q_WAIT, Q_DISK_WAIT, Q_RSS,	      Q_CHARGED_OWN, Q_IO,
	Q_BLK_MB, Q_NET,  Q_PORT,      Q_STEP_ENERGY, Q_GPU_UTIL,
};

int extremes__place(enum quantity q)
{
	for (int i = 0; i < EXTREMES; i++)
		if (drawn[i] == q)
			return i;
	return -1;
}

float *extremes__of(const struct extremes *e, enum quantity q)
{
	int place = extremes__place(q);

	return place < 0 ? NULL : e->of[place];
}

int extremes__init(struct extremes *e, unsigned n)
{
	*e = (struct extremes){0};
	for (int i = 0; i < EXTREMES; i++) {
		e->of[i] = malloc((2 * (size_t)n + 1) * sizeof(*e->of[i]));
		if (!e->of[i])
			return -ENOMEM;
	}
	extremes__clear(e, n);
	return 0;
}

void extremes__free(struct extremes *e)
{
	for (int i = 0; i < EXTREMES; i++)
		free(e->of[i]);
	*e = (struct extremes){0};
}

void extremes__clear(struct extremes *e, unsigned n)
{
	for (int i = 0; i < EXTREMES; i++)
		for (size_t k = 0; e->of[i] && k < 2 * (size_t)n; k++)
			e->of[i][k] = NAN;
}

void extremes__add(float *of, const float *other, unsigned n, unsigned bin, bool is_whole)
{
	float low = of[bin], high = of[n + bin], less = other[bin], more = other[n + bin];
	bool both = is_whole && !isnan(low) && !isnan(less);

	of[bin] = both ? fminf(low + more, high + less) : fminf(low, less);
	of[n + bin] = both ? fmaxf(low + more, high + less) : fmaxf(high, more);
}

void extremes__join(float *of, const float *other, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		of[k] = fminf(of[k], other[k]);
		of[n + k] = fmaxf(of[n + k], other[n + k]);
	}
}

bool extremes__are_known(const float *of, unsigned n)
{
	for (unsigned k = 0; of && k < n; k++)
		if (!isnan(of[k]))
			return true;
	return false;
}
