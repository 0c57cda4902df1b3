/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a table of a file, each with what schemas/ or the table's attributes say of it. */
#ifndef JP_HDF5_TABLE_COLUMNS_H
#define JP_HDF5_TABLE_COLUMNS_H

#include "hdf5/column_attrs.h"
#include "hdf5/cursor.h"

/* All zeros before the first read. */
struct table_columns {
	struct column *cols; /* of the cursor, in its order; their names are the cursor's */
	unsigned ncols;
	bool builtin;		    /* schemas/ describe all of them */
	char *texts[COLUMN_ATTR_N]; /* what the attributes hold: cols point into them */
};

/* Describes the columns of the table that the cursor stands at, which is one of `series`, as
 * column__describe() does; attributes of another shape than column_attrs__write() gives them are
 * left out. What t held before is freed. 0 or -ENOMEM. */
int table_columns__read(struct table_columns *t, const struct cursor *c, const char *series);
void table_columns__clear(struct table_columns *t);

#endif
