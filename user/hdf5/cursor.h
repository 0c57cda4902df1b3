/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of tables, block by block, in the types they are stored in. A member X that is an array
 * of numbers is the columns X0, X1 ... One cursor serves any number of tables, one after the other;
 * what two tables of the same shape have in common is read once.
 */
#ifndef JP_HDF5_CURSOR_H
#define JP_HDF5_CURSOR_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "hdf5/columns_table.h"
#include "hdf5/reader.h"

struct cursor_column {
	char *name;
	enum col_type type;
	unsigned array; /* as in struct column */
	bool unknown;	/* it is named in "Unknown Columns": its cells have no meaning */
};

struct cursor {
	struct cursor_column *cols; /* the members that are numbers; others are left out */
	unsigned ncols;
	bool others; /* the table has members of other types */
	uint64_t nrows;
	uint64_t chunks; /* number of chunks with its rows; 0: it is not chunked */
	unsigned shape;	 /* changes whenever cols differ from those of the table before */
	bool plain;	 /* the rows read so far are stored in the same bytes as cells here */
	bool gaps;	 /* some of the rows read so far were never written */
	/* Set by the caller: impossible values in Slurm's own tables are returned as they are
	 * stored. */
	bool as_stored;
	struct cursor_state *state;
};

/* 0 or -ENOMEM. */
int cursor__new(struct cursor **out);
void cursor__free(struct cursor *c);
/* Closes the table, before its file is closed. */
void cursor__close(struct cursor *c);

/*
 * Goes to the first row of a table: SERIES/TABLE of a grouped series, else SERIES. The node must
 * not be freed before the next table is opened or the cursor is freed. 0; -ENOENT: no such table;
 * -EBADMSG: not a table, or damaged; -ENOTSUP: none of its columns is of numbers; -EMSGSIZE: it
 * claims more rows than its bytes can hold; -ENOMEM.
 */
int cursor__open(struct cursor *c, const struct reader_node *n, const struct reader_series *s,
		 const char *table);
/* Reads the next rows: *n of them at *rows, with ncols cells each, which are valid until the next
 * call. 1; 0 at the end; -EBADMSG: damaged. */
int cursor__next(struct cursor *c, const union cell **rows, unsigned *n);
/* Makes `row` the next one; there are none where the table has fewer rows. */
void cursor__seek(struct cursor *c, uint64_t row);
/* The table (hid_t); it is the cursor's, and valid until the next table. */
hid_t cursor__dataset(const struct cursor *c);
/* The type of its rows in the file; the cursor's, until the next table. */
hid_t cursor__row_type(const struct cursor *c);
/* The table Columns of the table's node; the cursor's, until the next table. 0 or -ENOMEM. */
int cursor__columns(const struct cursor *c, const struct columns_table **out);
/* The row that Columns has of a column of the table; NULL: none. cursor__columns() comes before. */
const char *cursor__columns_row(const struct cursor *c, const char *column);
/* Position of a column, -1: no such. */
int cursor__column(const struct cursor *c, const char *name);
/* As cursor__column(), but where no column has exactly that name, takes one whose letters differ
 * only in case. */
int cursor__column_like(const struct cursor *c, const char *name);

#endif
