/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the descriptions of columns from a file, where schemas/ do not describe them. */
#include "hdf5/table_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/columns_table.h"
#include "schema/describe.h"

#define TEXT_MAX 256 /* bytes */

enum { UNITS, KINDS, DOCS, ATTRS };

static const char *const attrs[ATTRS] = {
	[UNITS] = "Column Units",
	[KINDS] = "Column Kinds",
	[DOCS] = "Column Descriptions",
};

/* n strings of at most *size bytes, *size being those from one to the next afterwards; each ends
 * with a NUL. NULL: they cannot be read. 0 or -ENOMEM. */
static int read_strings(hid_t attr, hid_t type, hsize_t n, char **out, size_t *size)
{
	hid_t padded = H5Tcopy(type);

	*out = calloc(n, *size + 1);
	if (!*out) {
		H5Tclose(padded);
		return -ENOMEM;
	}
	if (H5Tset_size(padded, ++*size) < 0 || H5Tset_strpad(padded, H5T_STR_NULLTERM) < 0 ||
	    H5Aread(attr, padded, *out) < 0) {
		free(*out);
		*out = NULL;
	}
	H5Tclose(padded);
	return 0;
}

/* The n strings of an attribute as read_strings() has them; NULL: there is no attribute of that
 * name and shape. */
static int read_texts(hid_t dset, const char *name, hsize_t n, char **out, size_t *size)
{
	hid_t attr = H5Aexists(dset, name) > 0 ? H5Aopen(dset, name, H5P_DEFAULT) : -1;
	hid_t type = attr < 0 ? -1 : H5Aget_type(attr), space = attr < 0 ? -1 : H5Aget_space(attr);
	int err = 0;

	*out = NULL;
	*size = type < 0 ? 0 : H5Tget_size(type);
	if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
	    !H5Tis_variable_str(type) && *size && *size <= TEXT_MAX &&
	    H5Sget_simple_extent_npoints(space) == (hssize_t)n)
		err = read_strings(attr, type, n, out, size);
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	return err;
}

static void describe_column(struct table_columns *t, const struct cursor *c, const char *series,
			    unsigned i, const struct column_stored *stored)
{
	t->cols[i] = column__describe(series, c->cols[i].name, stored);
	t->cols[i].type = c->cols[i].type;
	t->cols[i].array = c->cols[i].array;
}

/* The description of member m of the rows in the table's attributes. */
static struct column_stored stored_of(const struct table_columns *t, const size_t *size, size_t m)
{
	const char *text[ATTRS];
	struct column_stored stored;

	for (unsigned k = 0; k < ATTRS; k++)
		text[k] = t->texts[k] ? t->texts[k] + m * size[k] : NULL;
	stored = (struct column_stored){.unit = text[UNITS], .doc = text[DOCS]};
	stored.has_kind = text[KINDS] && columns_table__kind(text[KINDS], &stored.kind);
	return stored;
}

static bool has_texts(const struct table_columns *t)
{
	for (unsigned k = 0; k < ATTRS; k++)
		if (t->texts[k])
			return true;
	return false;
}

/* Describes the columns once more that schemas/ do not have. The columns of an array are one member
 * of the rows. */
static int describe_by_attrs(struct table_columns *t, const struct cursor *c, const char *series)
{
	const hid_t dset = cursor__dataset(c);
	int members = H5Tget_nmembers(cursor__row_type(c)), err = 0;
	size_t size[ATTRS] = {0};

	for (unsigned k = 0; !err && members > 0 && k < ATTRS; k++)
		err = read_texts(dset, attrs[k], (hsize_t)members, &t->texts[k], &size[k]);
	if (err || !has_texts(t))
		return err;
	for (unsigned i = 0, m = 0; i < c->ncols; m++) {
		const struct column_stored stored = stored_of(t, size, m);

		for (unsigned n = c->cols[i].array ? c->cols[i].array : 1; n; n--, i++)
			if (t->cols[i].source != COL_BUILTIN)
				describe_column(t, c, series, i, &stored);
	}
	return 0;
}

/* The same by the node's table. The rows that are needed are kept. */
static int describe_by_node(struct table_columns *t, const struct cursor *c, const char *series)
{
	const struct columns_table *all;
	int err = cursor__columns(c, &all);

	if (err || !all->n)
		return err;
	t->texts[0] = calloc(c->ncols, all->row_bytes);
	if (!t->texts[0])
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++) {
		const char *row = cursor__columns_row(c, c->cols[i].name);
		char *own = t->texts[0] + i * all->row_bytes;
		struct column_stored stored;

		if (!row || t->cols[i].source == COL_BUILTIN)
			continue;
		memcpy(own, row, all->row_bytes);
		stored = columns_table__stored(all, own);
		describe_column(t, c, series, i, &stored);
	}
	return 0;
}

int table_columns__read(struct table_columns *t, const struct cursor *c, const char *series)
{
	int err;

	table_columns__clear(t);
	t->cols = calloc(c->ncols + 1, sizeof(*t->cols));
	if (!t->cols)
		return -ENOMEM;
	t->ncols = c->ncols;
	t->builtin = true;
	for (unsigned i = 0; i < c->ncols; i++) {
		describe_column(t, c, series, i, NULL);
		t->builtin &= t->cols[i].source == COL_BUILTIN;
	}
	if (t->builtin)
		return 0;
	err = c->others ? 0 : describe_by_attrs(t, c, series);
	if (!err && !has_texts(t))
		err = describe_by_node(t, c, series);
	if (err)
		table_columns__clear(t);
	return err;
}

void table_columns__clear(struct table_columns *t)
{
	for (unsigned k = 0; k < ATTRS; k++)
		free(t->texts[k]);
	free(t->cols);
	*t = (struct table_columns){0};
}
