/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One column of one series of a file over time, as a curve of steps: a row's value holds from the
 * end of the row before to its own end, and amounts are rates, per second. Of one table with few
 * rows the steps are its rows. Else time is cut into equal intervals, of which a table's value is
 * the mean over time; the curve is the median of the tables, between the lowest and the highest, or
 * of one table its mean, between the lowest and the highest of its rows.
 */
#ifndef JP_JOBFILE_CURVE_H
#define JP_JOBFILE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "hdf5/reader.h"
#include "jobfile/select.h"

struct curve_query {
	const char *series; /* as in the file */
	const char *column; /* in any case; exactly this one is preferred */
	const struct selection *sel;
	unsigned intervals; /* at most so many where steps are no rows */
	/* As that of struct items_query. */
	void (*problem)(void *ctx, const char *step, const char *node, const char *table, int err);
	void *ctx;
};

#define CURVE_UNIT 32

struct curve {
	unsigned n;
	double *begin_s, *end_s;     /* of each step, since the first of the file's chosen steps (of
				      * the job) started */
	double *low, *middle, *high; /* NaN: not known */
	char *column;		     /* its name in the file */
	char unit[CURVE_UNIT];	     /* of the column, not of the rate; "": a plain number */
	bool is_rate;
	bool has_range; /* low and high may differ */
	unsigned tables;
	uint64_t rows;
};

/* 0; -ENOENT: no table of that series and selection; -ENODATA: none has the column, or a row of
 * which the time is known; -EBADMSG: damaged; -ENOMEM. curve__free() in all cases. */
int curve__read(struct curve *out, const struct reader *r, const struct curve_query *q);
void curve__free(struct curve *c);

#endif
