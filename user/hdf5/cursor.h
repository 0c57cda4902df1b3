/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of tables, block by block, in the types they are stored in. A member X that is an array
 * of numbers is the columns X0, X1 ... One cursor serves any number
 * of tables, one after the other: what two tables of the same shape share is kept.
 */
#ifndef JP_HDF5_CURSOR_H
#define JP_HDF5_CURSOR_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "hdf5/reader.h"

struct cursor_column {
	char *name;
	enum col_type type;
	unsigned array; /* as in struct column */
	bool unknown;	/* named in "Unknown Columns": its cells mean nothing */
};

struct cursor {
	struct cursor_column *cols; /* numbers: members of other types are left out */
	unsigned ncols;
	bool others; /* the table has members of other types */
	uint64_t nrows;
	uint64_t chunks; /* that hold its rows; 0: it is not chunked */
	unsigned shape;	 /* another number whenever cols differ from the table before */
	bool plain;	 /* the rows read so far are stored in the same bytes as here */
	bool gaps;	 /* some of the rows read so far were never written */
	/* Set by the caller: impossible values of Slurm's own tables come as they are stored. */
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
 * stay until the next one is opened or the cursor is freed. 0; -ENOENT: no such table; -EBADMSG:
 * not a table, or damaged; -ENOTSUP: none of its columns is of numbers; -EMSGSIZE: it claims more
 * rows than its bytes can hold; -ENOMEM.
 */
int cursor__open(struct cursor *c, const struct reader_node *n, const struct reader_series *s,
		 const char *table);
/* The next rows: *n of them at *rows, ncols cells each, until the next call. 1; 0 at the end;
 * -EBADMSG: damaged. */
int cursor__next(struct cursor *c, const union cell **rows, unsigned *n);
/* The next rows are those from `row` on; none when there are not so many. */
void cursor__seek(struct cursor *c, uint64_t row);
/* The table; the cursor's, until the next. */
hid_t cursor__dataset(const struct cursor *c);
/* The type of its rows in the file; the cursor's, until the next table. */
hid_t cursor__row_type(const struct cursor *c);
/* Position of a column, -1: no such. */
int cursor__column(const struct cursor *c, const char *name);
/* As cursor__column(), but where no column has exactly that name, one counts whose letters differ
 * in case only. */
int cursor__column_like(const struct cursor *c, const char *name);

#endif
