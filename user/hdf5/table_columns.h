/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a table in a file, with their descriptions from schemas/, from the table's own
 * attributes, or from the node's table Columns. */
#ifndef JP_HDF5_TABLE_COLUMNS_H
#define JP_HDF5_TABLE_COLUMNS_H

#include "hdf5/cursor.h"

/* All zeros before the first read. */
struct table_columns {
	struct column *cols; /* of the cursor, in its order; their names are the cursor's */
	unsigned ncols;
	bool builtin;	/* schemas/ describe all of them */
	char *texts[3]; /* what is stored, into which cols point */
};

/*
 * Describes the columns of the cursor's table, which is one of `series`, as column__describe()
 * does. Other programs, and earlier versions, put arrays of fixed strings with an element for each
 * member of its rows beside a table: "Column Units", "Column Kinds" and "Column Descriptions".
 * Those of another shape are left out. What t had before is freed. 0 or -ENOMEM.
 */
int table_columns__read(struct table_columns *t, const struct cursor *c, const char *series);
void table_columns__clear(struct table_columns *t);

#endif
