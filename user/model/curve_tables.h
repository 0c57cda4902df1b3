/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of a curve, one after the other, as intervals with a value each. */
#ifndef JP_MODEL_CURVE_TABLES_H
#define JP_MODEL_CURVE_TABLES_H

#include "hdf5/hdf5.h"
#include "model/curve.h"

/* A row: from, to: seconds of unix time, or since the step's start where that is all a table has.
 */
struct curve_row {
	double from, to, value; /* NaN: not known */
};

struct curve_tables {
	const struct reader *r; /* the model_file's */
	const struct column_query *q;
	struct cursor *cursor;
	struct column_place at;
	unsigned tables; /* that were called so far */
	bool has_series;
	double first_start; /* of all chosen steps; NaN: no start is known */
	double start;	    /* of the step of the table at hand; NaN: not known */
};

/* Calls table() for each table that has the column, and in it row() for each row that has a time.
 * 0; what a call returned; -EBADMSG of a damaged table goes to q->problem; -ENOMEM. */
int curve_tables__walk(struct curve_tables *t, int (*table)(void *ctx),
		       void (*row)(void *ctx, const struct curve_row *row), void *ctx);

#endif
