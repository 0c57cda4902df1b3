/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lowest and the highest row of a unit in each bin. A bin is a mean: where it is longer than
 * the rows, a peak of a few of them would not be seen in a line of bins.
 */
#ifndef JP_MODEL_EXTREMES_H
#define JP_MODEL_EXTREMES_H

#include <math.h>
#include <stdbool.h>

enum quantity;

#define EXTREMES 11 /* quantities that are drawn as lines */

/* Of each quantity by extremes__place(): low[n], then high[n]; of amounts per second; NaN: no row.
 * NULL: not kept. */
struct extremes {
	float *of[EXTREMES];
};

/* The place of a quantity; -1: it is not drawn as a line. */
int extremes__place(enum quantity q);

/* The arrays of a quantity; NULL: not kept. */
float *extremes__of(const struct extremes *e, enum quantity q);

/* Room for all quantities. 0 or -ENOMEM; extremes__free() in both cases. */
int extremes__init(struct extremes *e, unsigned n);
void extremes__free(struct extremes *e);
void extremes__clear(struct extremes *e, unsigned n);

/* A row that lies in a bin. */
static inline void extremes__note(float *of, unsigned n, unsigned bin, double v)
{
	float *low = &of[bin], *high = &of[n + bin];

	if (isnan(v))
		return;
	*low = !(*low <= v) ? (float)v : *low;
	*high = !(*high >= v) ? (float)v : *high;
}

/*
 * Adds the extremes of another unit that is counted together with this one. Which of their rows
 * coincided is not known, so that the sums were reached for sure and the truth may be wider. In a
 * bin that one of the two covers only in part, the sums are not made and each is taken alone.
 */
void extremes__add(float *of, const float *other, unsigned n, unsigned bin, bool is_whole);
/* Joins the extremes of two units that measured the same thing. */
void extremes__join(float *of, const float *other, unsigned n);
/* Whether there is a row in any bin. */
bool extremes__are_known(const float *of, unsigned n);

#endif
