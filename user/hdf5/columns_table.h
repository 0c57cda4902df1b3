/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table Columns of a node describes the columns of all its other tables, so that nothing else
 * is needed to read the file: a row per column of a series, of five texts. Table is the name of the
 * series, or <series>/<table> where tables of one group have columns of their own; Column is the
 * column's name, Kind one of time, gauge, delta (per interval) and cumulative. Unit and Description
 * may be "". Columns of Totals have no rows: Min_X is described as X is.
 */
#ifndef JP_HDF5_COLUMNS_TABLE_H
#define JP_HDF5_COLUMNS_TABLE_H

#include <hdf5.h>
#include <stdbool.h>

#include "schema/describe.h"

#define COLUMNS_TABLE "Columns"

enum column_text { TEXT_TABLE, TEXT_COLUMN, TEXT_UNIT, TEXT_KIND, TEXT_DOC, TEXTS };

struct columns_row {
	const char *table; /* NULL: the series alone */
	const char *series;
	const struct column *col; /* its doc may be NULL */
};

/* Makes the table in the group of a node. 0, -ENOMEM or as h5__error(). */
int columns_table__write(hid_t node, const struct columns_row *rows, unsigned n);

/* The table in memory: rows of texts that end with a NUL each. */
struct columns_table {
	char *rows;
	size_t row_bytes, at[TEXTS]; /* where in a row each text begins */
	size_t n;
};

/* Reads it; n is 0 where the node has no such table, or one of another shape. 0 or -ENOMEM. */
int columns_table__read(hid_t node, struct columns_table *out);
/* The row of a column; NULL: there is none. */
const char *columns_table__find(const struct columns_table *t, const char *table,
				const char *column);
/* What a row says. The texts are the row's. */
struct column_stored columns_table__stored(const struct columns_table *t, const char *row);
void columns_table__clear(struct columns_table *t);

/* The kind that a text names; false: it names none. */
bool columns_table__kind(const char *text, enum col_kind *kind);

#endif
