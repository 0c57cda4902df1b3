/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads the table that has the units, kinds and descriptions of a node's columns. */
#include "hdf5/columns_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"

#define DOC_MAX	      72
#define TEXT_MAX      600	  /* bytes that are read: a series and a table */
#define READ_MAX      (16u << 20) /* the same of all rows */
#define DEFLATE_LEVEL 9		  /* it is text, and of a file's bytes it has a large part */

static const char *const names[TEXTS] = {
	[TEXT_TABLE] = "Table", [TEXT_COLUMN] = "Column",   [TEXT_UNIT] = "Unit",
	[TEXT_KIND] = "Kind",	[TEXT_DOC] = "Description",
};

static const char *const kind_names[] = {
	[COL_TIME] = "time",
	[COL_GAUGE] = "gauge",
	[COL_DELTA] = "delta",
	[COL_CUMULATIVE] = "cumulative",
};

bool columns_table__kind(const char *text, enum col_kind *kind)
{
	for (size_t k = 0; k < sizeof(kind_names) / sizeof(kind_names[0]); k++) {
		if (strcmp(text, kind_names[k]))
			continue;
		*kind = k;
		return true;
	}
	return false;
}

/* ---- writing */

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

/* Text k of a row, with its length; a table's name is put into `buf`. */
static const char *text_of(const struct columns_row *r, unsigned k, char *buf, size_t size,
			   size_t *len)
{
	const char *text = k == TEXT_COLUMN ? r->col->name
			   : k == TEXT_UNIT ? r->col->unit
			   : k == TEXT_KIND ? kind_names[r->col->kind]
			   : k == TEXT_DOC  ? r->col->doc
			   : r->table	    ? buf
					    : r->series;

	if (k == TEXT_TABLE && r->table)
		snprintf(buf, size, "%s/%s", r->series, r->table);
	text = text ? text : "";
	*len = k == TEXT_DOC ? doc_length(text) : strlen(text);
	return text;
}

/* Sets where each text begins in a row, and how long it may be, and returns the rows; NULs follow
 * each text. */
static char *make_rows(const struct columns_row *rows, unsigned n, struct columns_table *t,
		       size_t size[TEXTS])
{
	char buf[TEXT_MAX], *all;

	for (unsigned k = 0; k < TEXTS; k++) {
		size[k] = 1;
		for (unsigned i = 0; i < n; i++) {
			size_t len;

			text_of(&rows[i], k, buf, sizeof(buf), &len);
			size[k] = len + 1 > size[k] ? len + 1 : size[k];
		}
		t->at[k] = t->row_bytes;
		t->row_bytes += size[k];
	}
	all = calloc(n, t->row_bytes);
	for (unsigned i = 0; all && i < n; i++)
		for (unsigned k = 0; k < TEXTS; k++) {
			size_t len;
			const char *text = text_of(&rows[i], k, buf, sizeof(buf), &len);

			memcpy(all + i * t->row_bytes + t->at[k], text, len);
		}
	return all;
}

/* A row of fixed texts; < 0 on failure. */
static hid_t row_type(const struct columns_table *t, const size_t size[TEXTS])
{
	hid_t row = H5Tcreate(H5T_COMPOUND, t->row_bytes);

	for (unsigned k = 0; row >= 0 && k < TEXTS; k++) {
		hid_t text = H5Tcopy(H5T_C_S1);

		if (H5Tset_size(text, size[k]) < 0 || H5Tset_cset(text, H5T_CSET_UTF8) < 0 ||
		    H5Tinsert(row, names[k], t->at[k], text) < 0) {
			H5Tclose(row);
			row = H5I_INVALID_HID;
		}
		H5Tclose(text);
	}
	return row;
}

static int write_rows(hid_t node, hid_t type, hsize_t n, const char *rows)
{
	hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &n, NULL);
	hid_t dset = H5I_INVALID_HID;
	int err = 0;

	if (H5Pset_chunk(dcpl, 1, &n) >= 0 && H5Pset_deflate(dcpl, DEFLATE_LEVEL) >= 0 &&
	    H5Pset_obj_track_times(dcpl, false) >= 0 && h5__plain_attrs(dcpl) >= 0)
		dset = H5Dcreate2(node, COLUMNS_TABLE, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	if (dset < 0 || H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)
		err = h5__error();
	if (dset >= 0)
		H5Dclose(dset);
	H5Sclose(space);
	H5Pclose(dcpl);
	return err;
}

int columns_table__write(hid_t node, const struct columns_row *rows, unsigned n)
{
	struct columns_table t = {0};
	size_t size[TEXTS];
	hid_t type;
	char *all;
	int err;

	if (!n)
		return 0;
	all = make_rows(rows, n, &t, size);
	if (!all)
		return -ENOMEM;
	type = row_type(&t, size);
	err = type < 0 ? h5__error() : write_rows(node, type, n, all);
	if (type >= 0)
		H5Tclose(type);
	free(all);
	return err;
}

/* ---- reading */

/* Whether the rows are of these five texts; sets what a row in memory is. */
static bool learn_row(hid_t type, struct columns_table *t, size_t size[TEXTS])
{
	if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != TEXTS)
		return false;
	for (unsigned k = 0; k < TEXTS; k++) {
		int i = H5Tget_member_index(type, names[k]);
		hid_t text = i < 0 ? H5I_INVALID_HID : H5Tget_member_type(type, i);
		bool good = text >= 0 && H5Tget_class(text) == H5T_STRING &&
			    H5Tis_variable_str(text) == 0 && H5Tget_cset(text) == H5T_CSET_UTF8;

		size[k] = good ? H5Tget_size(text) + 1 : 0;
		if (text >= 0)
			H5Tclose(text);
		if (size[k] < 2 || size[k] > TEXT_MAX)
			return false;
		t->at[k] = t->row_bytes;
		t->row_bytes += size[k];
	}
	return true;
}

/* How many rows are read; 0: the table is not in this file, or there are too many. */
static hsize_t learn_rows(hid_t dset, size_t row_bytes)
{
	hid_t space = H5Dget_space(dset), dcpl = H5Dget_create_plist(dset);
	const hsize_t max = READ_MAX / row_bytes;
	hsize_t n = 0, chunk = 0;

	if (space < 0 || dcpl < 0 || H5Pget_external_count(dcpl) ||
	    H5Pget_layout(dcpl) != H5D_CHUNKED || H5Pget_chunk(dcpl, 1, &chunk) != 1 ||
	    chunk > max || h5__filters(dcpl) || H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &n, NULL) != 1 || n > max)
		n = 0;
	if (space >= 0)
		H5Sclose(space);
	if (dcpl >= 0)
		H5Pclose(dcpl);
	return n;
}

static int read_rows(hid_t dset, struct columns_table *t)
{
	size_t size[TEXTS] = {0};
	hid_t type = H5Dget_type(dset), mem = H5I_INVALID_HID;
	hsize_t n = type >= 0 && learn_row(type, t, size) ? learn_rows(dset, t->row_bytes) : 0;
	int err = 0;

	if (n) {
		t->rows = calloc(n, t->row_bytes);
		mem = t->rows ? row_type(t, size) : mem;
		err = t->rows ? 0 : -ENOMEM;
	}
	if (mem >= 0 && H5Dread(dset, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->rows) >= 0)
		t->n = n;
	if (mem >= 0)
		H5Tclose(mem);
	if (type >= 0)
		H5Tclose(type);
	return err;
}

int columns_table__read(hid_t node, struct columns_table *out)
{
	H5L_info_t link;
	hid_t dset = H5I_INVALID_HID;
	int err;

	*out = (struct columns_table){0};
	if (H5Lexists(node, COLUMNS_TABLE, H5P_DEFAULT) > 0 &&
	    H5Lget_info(node, COLUMNS_TABLE, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD)
		dset = H5Dopen2(node, COLUMNS_TABLE, H5P_DEFAULT);
	if (dset < 0)
		return 0;
	err = read_rows(dset, out);
	H5Dclose(dset);
	return err;
}

const char *columns_table__find(const struct columns_table *t, const char *table,
				const char *column)
{
	for (const char *row = t->rows, *end = row + t->n * t->row_bytes; row < end;
	     row += t->row_bytes)
		if (!strcmp(row + t->at[TEXT_COLUMN], column) &&
		    !strcmp(row + t->at[TEXT_TABLE], table))
			return row;
	return NULL;
}

struct column_stored columns_table__stored(const struct columns_table *t, const char *row)
{
	struct column_stored s = {
		.unit = row + t->at[TEXT_UNIT],
		.doc = row + t->at[TEXT_DOC],
	};

	s.has_kind = columns_table__kind(row + t->at[TEXT_KIND], &s.kind);
	return s;
}

void columns_table__clear(struct columns_table *t)
{
	free(t->rows);
	*t = (struct columns_table){0};
}
