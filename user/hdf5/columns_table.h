/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attributes of a table that describe its columns, so that nothing else is needed to read it:
 * "Column Units", "Column Kinds" and "Column Descriptions", arrays of fixed strings with an element
 * for each member of its rows. "" means that there is no unit or description.
 */
#ifndef JP_HDF5_COLUMN_ATTRS_H
#define JP_HDF5_COLUMN_ATTRS_H

#include <hdf5.h>
#include <stdbool.h>

#include "schema/series.h"

enum column_attr { COLUMN_UNITS, COLUMN_KINDS, COLUMN_DOCS, COLUMN_ATTR_N };

/* Describes a table whose row type h5__row_type() made of the same columns. A doc may be NULL.
 * 0, -ENOMEM or as h5__error(). */
int column_attrs__write(hid_t dset, const struct column *cols, unsigned ncols);

const char *column_attrs__name(enum column_attr attr);
/* The kind that a text of "Column Kinds" names; false: it names none. */
bool column_attrs__kind(const char *text, enum col_kind *kind);

#endif
