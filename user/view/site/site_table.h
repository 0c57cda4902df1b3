/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of what the index knows, in three forms: text as wide as the terminal, CSV and JSON. Text
 * has few digits and leaves out columns that do not fit; CSV and JSON have all columns, in the
 * units that the columns' docs state.
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
	CELL_ID,       /* a whole number, without commas */
	CELL_JOB,      /* a job's number; text has ARRAY_TASK of the two columns behind it */
	CELL_NUMBER,   /* three digits */
	CELL_HOURS,    /* s, shown as h with three digits */
	CELL_SHARE,    /* 0 to 1, shown as percent */
	CELL_POINTS,   /* a difference of shares, in percentage points with its sign */
	CELL_DURATION, /* s as 3:05, 1-02:03 */
	CELL_TIME,     /* Unix time as 11-29 08:15, of other years as 2025-11-29 */
	CELL_BYTES,    /* as 1.5 TiB */
	CELL_SERIES,   /* numbers as site_series__text() makes them; an array in JSON */
	CELL_HIDDEN    /* never shown as text */
};

#define SITE_CELL 128 /* bytes of a number as text */
/* Formats a value; "-" for NaN, which is unknown. */
void site_cell__put(char to[static SITE_CELL], enum site_cell_kind kind, double v);

#define SITE_SERIES 1024 /* bytes of a series as text */
/* Writes numbers with blanks between them; NaN, which is unknown, is "-". Of more numbers than
 * there is room for the first ones. */
const char *site_series__text(char to[static SITE_SERIES], const double *v, unsigned n);

#define SITE_HIDDEN UINT_MAX /* a rank: text has the column only if rows are sorted by it */

struct site_column {
	const char *key;  /* in JSON and CSV */
	const char *head; /* in text */
	const char *sql;  /* its value, as an expression of SQL */
	enum site_cell_kind kind;
	unsigned rank;	/* higher ranks are left out first if there is no room, and if nothing is
			   known; 0: never */
	unsigned width; /* most characters that text shows; 0: all */
};

struct site_table {
	const struct site_column *columns;
	unsigned ncolumns;
	struct db_value *cells; /* row by row; the table owns the texts */
	unsigned nrows;
	bool has_sum;	       /* the last row has the sums of all that is asked for */
	const char *sorted_by; /* key of a column that text always has; NULL: none */
	const char *unknown;   /* what text has for an empty name in the first column; NULL: "" */
};

/* Adds a row of ncolumns cells, and copies their texts. 0 or -ENOMEM. */
int site_table__add(struct site_table *t, const struct db_value *v);
void site_table__free(struct site_table *t);

void site_table__print(const struct site_table *t, unsigned width, FILE *out);
/* Whether text of that width has the column. */
bool site_table__shows(const struct site_table *t, unsigned width, const char *key);
void site_table__csv(const struct site_table *t, FILE *out);
/* An array of objects, without the row of sums. NULL: no memory. */
json_t *site_table__json(const struct site_table *t);
/* Prints what site_table__json() makes: of many rows in a third of the time. */
void site_table__print_json(const struct site_table *t, FILE *out);
/* Prints the same rows by column, {"n": 2, "columns": {"job_id": [1, 2], "user": {"of": ["ada"],
 * "at": [0, 0]}, "name": null}}, in a quarter of the bytes. of: each text once, where they are few;
 * at: which of them a row has. null: nothing of the column is known. */
void site_table__print_columns(const struct site_table *t, FILE *out);
/* A row as an object. */
json_t *site_table__json_row(const struct site_table *t, unsigned row);

/* Prints the words of a text in lines that are no wider, and ends the last one. */
void site_table__wrap(const char *text, unsigned width, FILE *out);

/* Width of the terminal in characters, 80 if there is none; $COLUMNS goes first. */
unsigned site_table__width(FILE *out);

#endif
