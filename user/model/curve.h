/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One column of one series of a file over time, as a curve of steps: a row's value holds from the
 * end of the row before to its own end, and amounts are rates, per second. For one table with few
 * rows the steps are its rows. Otherwise time is divided into equal intervals, in each of which a
 * table has the mean over time. The curve is the median of the tables, with the lowest and the
 * highest one, or their sum; for one table it is the mean, with the lowest and the highest of its
 * rows.
 */
#ifndef JP_MODEL_CURVE_H
#define JP_MODEL_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/column_query.h"

struct curve {
	unsigned n;
	double *begin_s, *end_s;     /* begin and end of each step of the curve, since the first
					selected step of the job started */
	double *low, *middle, *high; /* NaN: not known */
	char *column;		     /* its name in the file */
	char unit[COLUMN_UNIT];	     /* of the column, not of the rate; "": a plain number */
	bool is_rate;
	bool has_range; /* low and high may differ */
	unsigned tables;
	uint64_t rows;
};

/* intervals: the largest number of steps that are not rows. 0; -ENOENT: there is no table of that
 * series and selection; -ENODATA: none has the column, or a row with a known time; -EBADMSG:
 * damaged; -ENOMEM. curve__free() in all cases. */
int curve__read(struct curve *out, const struct model_file *f, const struct column_query *q,
		unsigned intervals);
void curve__free(struct curve *c);

#endif
