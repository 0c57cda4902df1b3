/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One column of one series over all tables of a file, side by side and by time.
 *
 * Time is cut into periods. A table has a phase: how far its rows lie from the middle of their
 * periods; it is taken off first, so that nodes that began at different fractions of a period still
 * have one row per period each. Rows of one period share a row of the result; where a table has
 * several in one period, the second ones share the next row, and so on. So every row of every table
 * is in exactly one row of the result, and no number is made up.
 *
 * A table with no row there says nothing if the column counts per interval. Of a gauge or a
 * cumulative column the last known value holds, from the table's first row to its last.
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
	bool as_stored; /* integers that are unknown count as they are stored, as for sh5util */
	double period; /* s; 0: the tables' own: three quarters of the intervals of some of them are
			  no longer */
};

struct items_col {
	const char *node;
	const char *table; /* NULL: the series is one table per node */
};

struct items {
	struct items_col *cols; /* every node and table once, whatever the steps it is in */
	unsigned ncols;
	char *column;	    /* its name in the file */
	const char *unit;   /* "": a plain number */
	enum col_type type; /* of all cells: F64 where tables differ */
	enum col_kind kind; /* a gauge where neither the schema nor the table knows */
	bool grouped;
	double period; /* s */
	struct items_state *state;
};

/* A number in the type of the column; big: an integer sum that does not fit, in f. */
struct items_number {
	union cell v;
	bool big;
};

struct items_row {
	const char *step;
	unsigned nth; /* step of those that have rows, from 0 */
	bool first;   /* of its step */
	/* These are of the last table that has a row here */
	uint64_t elapsed;
	int64_t time_ns; /* unix time */
	double seconds;	 /* since the step's start, with fractions; NaN: not known */
	const union cell *cells;
	const bool *known;	 /* whether cells[i] is one */
	unsigned n;		 /* cells that are known; 0: min and max mean nothing */
	unsigned tables;	 /* with a row here, or whose last value holds */
	unsigned nodes;		 /* with a known cell */
	unsigned min_at, max_at; /* columns; the first of equals */
	struct items_number sum;
	double avg; /* NaN: of nothing */
};

/*
 * Looks at all tables; the rows come by items__next. f must outlive it. 0; -ENOENT: no table of
 * that series and selection; -ENODATA: none of them has the column; -E2BIG: more tables than we
 * follow; -ENOMEM.
 */
int items__open(struct items **out, const struct model_file *f, const struct items_query *q);
/* 1: a row, the cells until the next call; 0: no more; -ENOMEM. A damaged table is reported.
 * Memory: at most 32 MiB or 480 bytes per table of a step, whichever is more, for rows, and
 * 240 bytes per table. */
int items__next(struct items *it, struct items_row *row);
void items__free(struct items *it);

/* What is known of one step when its rows are done. Zero-initialise; feed every row of a step. */
struct items_totals {
	uint64_t rows;
	uint64_t n;		 /* known cells */
	union cell min, max;	 /* of single cells, */
	unsigned min_at, max_at; /* in which column */
	int64_t min_ns, max_ns;	 /* and when */
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
