/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One column of one series over all tables of a file, side by side and by time.
 *
 * Time is divided into periods. The phase of a table is how far its rows lie from the middle of
 * their periods. The phase is subtracted first, so that nodes that began at different fractions of
 * a period have one row per period each. Rows of one period share a row of the result; where a
 * table has several in one period, the second ones share the next row, and so on. So every row of
 * every table is in exactly one row of the result, and no number is made up.
 *
 * Where a table has no row there, its value is not known if the column is per interval; a gauge or
 * cumulative column has its last known value, from the table's first row to its last.
 */
#ifndef JP_MODEL_ITEMS_H
#define JP_MODEL_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/column_query.h"
#include "schema/series.h"

struct items_query {
	struct column_query of;
	bool as_stored; /* unknown integers are taken as they are stored, for sh5util */
	double period;	/* s; 0: the tables' own, such that three quarters of the intervals of some
			   of them are not longer */
};

struct items_col {
	const char *node;
	const char *table; /* NULL: the series is one table per node */
};

struct items {
	struct items_col *cols; /* every node and table once, over all steps */
	unsigned ncols;
	char *column;	    /* its name in the file */
	const char *unit;   /* "": a plain number */
	enum col_type type; /* of all cells: F64 where tables differ */
	enum col_kind kind; /* a gauge where neither the schema nor the table knows */
	bool grouped;
	double period; /* s */
	struct items_state *state;
};

/* A number in the type of the column; big: an integer sum that does not fit, so that it is in v.f.
 */
struct items_number {
	union cell v;
	bool big;
};

struct items_row {
	const char *step;
	unsigned nth; /* number of the step among those with rows, from 0 */
	bool first;   /* of its step */
	/* These are of the last table that has a row here */
	uint64_t elapsed;
	int64_t time_ns; /* unix time */
	double seconds;	 /* since the step's start, with fractions; NaN: not known */
	const union cell *cells;
	const bool *known;	 /* whether cells[i] is known */
	unsigned n;		 /* number of known cells; 0: min and max have no meaning */
	unsigned tables;	 /* tables with a row here, or whose last value holds */
	unsigned nodes;		 /* with a known cell */
	unsigned min_at, max_at; /* columns; the first of equals */
	struct items_number sum;
	double avg; /* NaN: no cell is known */
};

/*
 * Reads all tables once; items__next() returns the rows. f must outlive *out. 0; -ENOENT: no table
 * of that series and selection; -ENODATA: none of them has the column; -E2BIG: more tables than are
 * followed; -ENOMEM.
 */
int items__open(struct items **out, const struct model_file *f, const struct items_query *q);
/* 1: a row, whose cells are valid until the next call; 0: there are no more; -ENOMEM. A damaged
 * table is reported. Memory: at most 32 MiB or 480 bytes per table of a step, whichever is more,
 * for rows, and 240 bytes per table. */
int items__next(struct items *it, struct items_row *row);
void items__free(struct items *it);

/* Totals of one step. It begins zeroed, and items__total() adds every row of the step. */
struct items_totals {
	uint64_t rows;
	uint64_t n;		 /* known cells */
	union cell min, max;	 /* lowest and highest single cell */
	unsigned min_at, max_at; /* their columns */
	int64_t min_ns, max_ns;	 /* and their times */
	struct items_number sum;
	/* The row with the highest sum; the first of equals */
	struct items_number best;
	uint64_t best_elapsed;
	double best_seconds;
	int64_t best_ns;
	double best_avg;
	unsigned best_nodes;
};
void items__total(struct items_totals *t, const struct items *it, const struct items_row *row);
double items__double(struct items_number v, enum col_type type);

#endif
