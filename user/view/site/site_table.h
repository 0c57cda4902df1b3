/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of what the index knows, in three forms: text that is as wide as a terminal, CSV and
 * JSON. Text has numbers with few digits and leaves out the columns that do not fit; CSV and JSON
 * have all columns, and values in the units that the columns' docs say.
 */
#ifndef JP_VIEW_SITE_TABLE_H
#define JP_VIEW_SITE_TABLE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "index/db.h"

/* How text shows a value. */
enum site_cell_kind {
	CELL_TEXT,
	CELL_COUNT,    /* a whole number, with commas */
	CELL_ID,       /* without */
	CELL_NUMBER,   /* three digits */
	CELL_HOURS,    /* s as h, three digits */
	CELL_SHARE,    /* 0 to 1 as percent */
	CELL_POINTS,   /* a difference of shares in points of percent, with its sign */
	CELL_DURATION, /* s as 3:05, 1-02:03 */
	CELL_TIME,     /* Unix time as 11-29 08:15, of other years as 2025-11-29 */
	CELL_BYTES,    /* as 1.5 TB */
	CELL_HIDDEN    /* never shown as text */
};

#define SITE_CELL 128 /* bytes of a number as text */
/* The value as text; "-" where it is NaN, which is not known. */
void site_cell__put(char to[static SITE_CELL], enum site_cell_kind kind, double v);

#define SITE_HIDDEN UINT_MAX /* rank: text has it where rows are sorted by it */

struct site_column {
	const char *key;  /* of JSON and CSV */
	const char *head; /* of text */
	const char *sql;  /* what it is of a row */
	enum site_cell_kind kind;
	unsigned rank;	/* columns of higher ranks are left out first where there is no room,
			   and any where no value is known; 0: never */
	unsigned width; /* the widest that a text may be; 0: as it is */
};

struct site_table {
	const struct site_column *columns;
	unsigned ncolumns;
	struct db_value *cells; /* row by row; texts are the table's */
	unsigned nrows;
	bool has_sum;	       /* the last row is the sum of all rows */
	const char *sorted_by; /* the key of a column that text always has; NULL: none */
};

/* Adds a row of ncolumns cells. 0 or -ENOMEM. */
int site_table__add(struct site_table *t, const struct db_value *v);
void site_table__free(struct site_table *t);

void site_table__print(const struct site_table *t, unsigned width, FILE *out);
/* Whether text of that width has the column. */
bool site_table__shows(const struct site_table *t, unsigned width, const char *key);
void site_table__csv(const struct site_table *t, FILE *out);
/* An array of objects, without the sum. NULL: no memory. */
json_t *site_table__json(const struct site_table *t);
/* A row as an object. */
json_t *site_table__json_row(const struct site_table *t, unsigned row);

/* Columns of the terminal, 80 where there is none; $COLUMNS counts. */
unsigned site_table__width(FILE *out);

#endif
