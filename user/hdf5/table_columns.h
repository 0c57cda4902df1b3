/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a table in a file, with their descriptions from schemas/ or from the table's
 * attributes. */
#ifndef JP_HDF5_TABLE_COLUMNS_H
#define JP_HDF5_TABLE_COLUMNS_H

#include "hdf5/column_attrs.h"
#include "hdf5/cursor.h"

/* All zeros before the first read. */
struct table_columns {
	struct column *cols; /* of the cursor, in its order; their names are the cursor's */
	unsigned ncols;
	bool builtin;		    /* schemas/ describe all of them */
	char *texts[COLUMN_ATTR_N]; /* the attributes, into which cols point */
};

/* Describes the columns of the cursor's table, which is one of `series`, as
 * column__describe() does; attributes of another shape than column_attrs__write() gives them are
 * left out. What t had before is freed. 0 or -ENOMEM. */
int table_columns__read(struct table_columns *t, const struct cursor *c, const char *series);
void table_columns__clear(struct table_columns *t);

#endif
