/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the attributes of a table that have the units, kinds and descriptions of its columns. */
#include "hdf5/column_attrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"

#define DOC_MAX 72

static const char *const kind_names[] = {
	[COL_TIME] = "time",
	[COL_GAUGE] = "gauge",
	[COL_DELTA] = "delta",
	[COL_CUMULATIVE] = "cumulative",
};

static const char *unit_of(const struct column *c)
{
	return c->unit ? c->unit : "";
}

static const char *kind_of(const struct column *c)
{
	return kind_names[c->kind];
}

static const char *doc_of(const struct column *c)
{
	return c->doc ? c->doc : "";
}

/* The last of stops in the first n of doc, at which a text may end; 0: there is none. */
static size_t last_of(const char *doc, size_t n, const char *stops)
{
	while (n && !strchr(stops, doc[n]))
		n--;
	return n;
}

/* All texts of a table take as much as the longest: its first sentence or, where that is long, what
 * it says before it begins to list or to explain, which is true without that. */
static size_t doc_length(const char *doc)
{
	const char *stop = strstr(doc, ". ");
	size_t n = stop ? (size_t)(stop - doc) + 1 : strlen(doc);

	if (n <= DOC_MAX)
		return n;
	n = strcspn(doc, ":;(");
	if (n > DOC_MAX)
		n = last_of(doc, DOC_MAX, ",");
	n = n ? n : last_of(doc, DOC_MAX, " ");
	return doc[n - 1] == ' ' ? n - 1 : n;
}

static const struct {
	const char *name;
	const char *(*text)(const struct column *c);
	size_t (*length)(const char *text);
} attrs[COLUMN_ATTR_N] = {
	[COLUMN_UNITS] = {"Column Units", unit_of, strlen},
	[COLUMN_KINDS] = {"Column Kinds", kind_of, strlen},
	[COLUMN_DOCS] = {"Column Descriptions", doc_of, doc_length},
};

const char *column_attrs__name(enum column_attr attr)
{
	return attrs[attr].name;
}

bool column_attrs__kind(const char *text, enum col_kind *kind)
{
	for (size_t k = 0; k < sizeof(kind_names) / sizeof(kind_names[0]); k++) {
		if (strcmp(text, kind_names[k]))
			continue;
		*kind = k;
		return true;
	}
	return false;
}

/* Index of the first column of the next member: the columns of an array are one member. */
static unsigned next_member(const struct column *cols, unsigned i)
{
	return i + (cols[i].array ? cols[i].array : 1);
}

/* Texts of attribute k, of one size, with NULs behind the shorter ones; *n is how many. */
static char *texts_of(size_t k, const struct column *cols, unsigned ncols, size_t *size, hsize_t *n)
{
	char *all, *to;

	*size = 1;
	*n = 0;
	for (unsigned i = 0; i < ncols; i = next_member(cols, i), (*n)++) {
		size_t len = attrs[k].length(attrs[k].text(&cols[i]));

		*size = len > *size ? len : *size;
	}
	all = to = calloc(*n + 1, *size);
	for (unsigned i = 0; all && i < ncols; i = next_member(cols, i), to += *size)
		memcpy(to, attrs[k].text(&cols[i]), attrs[k].length(attrs[k].text(&cols[i])));
	return all;
}

static int write_texts(hid_t dset, const char *name, const char *texts, size_t size, hsize_t n)
{
	hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
	hid_t attr = H5I_INVALID_HID;
	int err = 0;

	if (H5Tset_size(type, size) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
	    H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
		attr = H5Acreate2(dset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (attr < 0 || H5Awrite(attr, type, texts) < 0)
		err = h5__error();
	if (attr >= 0)
		H5Aclose(attr);
	H5Sclose(space);
	H5Tclose(type);
	return err;
}

int column_attrs__write(hid_t dset, const struct column *cols, unsigned ncols)
{
	int err = 0;

	for (size_t i = 0; !err && i < COLUMN_ATTR_N; i++) {
		size_t size;
		hsize_t n;
		char *texts = texts_of(i, cols, ncols, &size, &n);

		err = texts ? write_texts(dset, attrs[i].name, texts, size, n) : -ENOMEM;
		free(texts);
	}
	return err;
}
