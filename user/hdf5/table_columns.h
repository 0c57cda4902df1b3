/* SPDX-License-Identifier: GPL-2.0-only */
/* What the attributes of a table say of its columns (hdf5/column_attrs.h), as far as they do. */
#ifndef JP_HDF5_COLUMN_TEXT_H
#define JP_HDF5_COLUMN_TEXT_H

#include <stdbool.h>

#include "hdf5/cursor.h"

struct column_told {
	char *unit, *doc; /* NULL: the table does not say */
	bool has_kind;
	enum col_kind kind;
};

/* Of each column of the table that the cursor stands at, the caller's to free. What is not in the
 * shape that jobprof writes is left out. 0 or -ENOMEM. */
int column_told__read(const struct cursor *c, struct column_told **out);
/* NULL is fine. */
void column_told__free(struct column_told *t, unsigned ncols);

#endif
