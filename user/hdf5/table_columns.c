/* SPDX-License-Identifier: GPL-2.0-only */
#include "hdf5/table_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/column_attrs.h"

#define TEXT_MAX 256 /* bytes */

/* n fixed strings of *size bytes; NULL: there is no such attribute. 0 or -ENOMEM. */
static int read_texts(hid_t dset, const char *name, hsize_t n, char **out, size_t *size)
{
	hid_t attr = H5Aexists(dset, name) > 0 ? H5Aopen(dset, name, H5P_DEFAULT) : -1;
	hid_t type = attr < 0 ? -1 : H5Aget_type(attr), space = attr < 0 ? -1 : H5Aget_space(attr);
	int err = 0;

	*out = NULL;
	*size = type < 0 ? 0 : H5Tget_size(type);
	if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
	    !H5Tis_variable_str(type) && *size && *size <= TEXT_MAX &&
	    H5Sget_simple_extent_npoints(space) == (hssize_t)n) {
		*out = calloc(n + 1, *size);
		err = *out ? 0 : -ENOMEM;
	}
	if (*out && H5Aread(attr, type, *out) < 0) {
		free(*out);
		*out = NULL;
	}
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	if (attr >= 0)
		H5Aclose(attr);
	return err;
}

static int take(struct column_told *t, unsigned k, const char *text, size_t size)
{
	char **to = k == COLUMN_UNITS ? &t->unit : &t->doc;

	if (k == COLUMN_KINDS) {
		t->has_kind = column_attrs__kind(text, size, &t->kind);
		return 0;
	}
	*to = strndup(text, size);
	return *to ? 0 : -ENOMEM;
}

/* The columns of an array are one member. */
static int take_all(const struct cursor *c, struct column_told *told, unsigned k, const char *texts,
		    size_t size)
{
	int err = 0;

	for (unsigned i = 0; !err && i < c->ncols; texts += size)
		for (unsigned n = c->cols[i].array ? c->cols[i].array : 1; !err && n; n--, i++)
			err = take(&told[i], k, texts, size);
	return err;
}

int column_told__read(const struct cursor *c, struct column_told **out)
{
	struct column_told *told = calloc(c->ncols + 1, sizeof(*told));
	const hid_t dset = cursor__dataset(c);
	int members = H5Tget_nmembers(cursor__row_type(c)), err = told ? 0 : -ENOMEM;

	for (unsigned k = 0; !err && !c->others && members > 0 && k < COLUMN_ATTR_N; k++) {
		char *texts;
		size_t size;

		err = read_texts(dset, column_attrs__name(k), (hsize_t)members, &texts, &size);
		if (!err && texts)
			err = take_all(c, told, k, texts, size);
		free(texts);
	}
	if (err) {
		column_told__free(told, c->ncols);
		return err;
	}
	*out = told;
	return 0;
}

void column_told__free(struct column_told *t, unsigned ncols)
{
	for (unsigned i = 0; t && i < ncols; i++) {
		free(t[i].unit);
		free(t[i].doc);
	}
	free(t);
}
