/* SPDX-License-Identifier: GPL-2.0-only */
/* From the type of a table's rows to columns, and back. */
#ifndef JP_HDF5_CURSOR_COLUMNS_H
#define JP_HDF5_CURSOR_COLUMNS_H

#include <hdf5.h>

#include "hdf5/cursor.h"

/*
 * Makes c->cols, ncols and others, of a cursor without columns. Arrays with a long name, or of more
 * numbers than a table may have columns, are others. 0; -EBADMSG: no row of numbers, or damaged, or
 * two columns of one name; -EMSGSIZE: the row is too long; -ENOMEM. What there is of c->cols then
 * is the caller's to free, too.
 */
int cursor_columns__read(hid_t type, struct cursor *c);
/* Makes the type of a row in memory: the columns as cells, one after the other. 0, -EBADMSG or
 * -ENOMEM. */
int cursor_columns__memory(const struct cursor *c, hid_t *out);

#endif
