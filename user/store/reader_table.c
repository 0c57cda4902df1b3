/* SPDX-License-Identifier: GPL-2.0-only */
/* One table of a file, wholly into memory. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/h5util.h"
#include "store/reader.h"

#define TABLE_MAX   (UINT64_C(4) << 30) /* bytes of cells */
#define BLOCK_ROWS  4096u
#define COLUMNS_MAX 4096
/* Deflate cannot do better than 1:1032; a table that claims to is not believed. */
#define DEFLATE_RATIO 1040u

/* Integers and IEEE floats are numbers; strings, arrays and home-made floats are left out. */
static bool is_number(hid_t type)
{
	hid_t floats[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
	size_t size = H5Tget_size(type);

	if (H5Tget_class(type) == H5T_INTEGER)
		return size == 1 || size == 2 || size == 4 || size == 8;
	for (unsigned i = 0; i < 4; i++)
		if (H5Tequal(type, floats[i]) > 0)
			return true;
	return false;
}

static int read_columns(hid_t type, struct table *t)
{
	int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : -1;

	if (n < 1 || n > COLUMNS_MAX)
		return -EBADMSG;
	t->names = calloc(n, sizeof(*t->names));
	if (!t->names)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		hid_t m = H5Tget_member_type(type, i);
		char *name = m >= 0 && is_number(m) ? H5Tget_member_name(type, i) : NULL;

		if (m >= 0)
			H5Tclose(m);
		if (!name)
			continue;
		t->names[t->ncols] = strdup(name);
		H5free_memory(name);
		if (!t->names[t->ncols])
			return -ENOMEM;
		t->ncols++;
	}
	return t->ncols ? 0 : -EBADMSG;
}

/* The bytes are in this file, and there can be as many as the table claims. */
static int check_storage(hid_t dset, uint64_t rows, size_t row_bytes)
{
	hid_t dcpl = H5Dget_create_plist(dset);
	H5D_layout_t layout;
	uint64_t limit;
	hsize_t chunk = 1;
	int err = 0;

	if (dcpl < 0)
		return -EBADMSG;
	layout = H5Pget_layout(dcpl);
	if (H5Pget_external_count(dcpl) != 0 ||
	    (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT))
		err = -EBADMSG;
	if (layout == H5D_CHUNKED && H5Pget_chunk(dcpl, 1, &chunk) != 1)
		err = -EBADMSG;
	H5Pclose(dcpl);
	if (err || !rows)
		return err;
	limit = H5Dget_storage_size(dset);
	if (limit > TABLE_MAX / DEFLATE_RATIO)
		limit = TABLE_MAX;
	else
		limit *= DEFLATE_RATIO;
	if (chunk > TABLE_MAX / row_bytes || rows > TABLE_MAX / row_bytes)
		return -EMSGSIZE;
	return rows * row_bytes > limit + chunk * row_bytes ? -EMSGSIZE : 0;
}

static hid_t memory_type(const struct table *t)
{
	hid_t mem = H5Tcreate(H5T_COMPOUND, t->ncols * sizeof(double));

	for (unsigned i = 0; mem >= 0 && i < t->ncols; i++) {
		if (H5Tinsert(mem, t->names[i], i * sizeof(double), H5T_NATIVE_DOUBLE) < 0) {
			H5Tclose(mem);
			return H5I_INVALID_HID;
		}
	}
	return mem;
}

static int read_block(hid_t dset, hid_t mem_type, uint64_t at, uint64_t n, double *rows)
{
	hsize_t start = at, count = n;
	hid_t mem = H5Screate_simple(1, &count, NULL), space = H5Dget_space(dset);
	int err = 0;

	if (mem < 0 || space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(dset, mem_type, mem, space, H5P_DEFAULT, rows) < 0)
		err = -EBADMSG;
	if (space >= 0)
		H5Sclose(space);
	if (mem >= 0)
		H5Sclose(mem);
	return err;
}

static int read_cells(hid_t dset, struct table *t)
{
	uint64_t step = t->nrows < BLOCK_ROWS ? t->nrows : BLOCK_ROWS;
	hid_t mem = memory_type(t);
	double *rows;
	int err = 0;

	t->cells = calloc(t->nrows * t->ncols + 1, sizeof(*t->cells));
	rows = calloc(step * t->ncols + 1, sizeof(*rows));
	if (!t->cells || !rows)
		err = -ENOMEM;
	else if (mem < 0)
		err = -EBADMSG;
	for (uint64_t at = 0; !err && at < t->nrows; at += step) {
		uint64_t n = t->nrows - at < step ? t->nrows - at : step;

		err = read_block(dset, mem, at, n, rows);
		for (uint64_t i = 0; !err && i < n; i++)
			for (unsigned c = 0; c < t->ncols; c++)
				t->cells[c * t->nrows + at + i] = rows[i * t->ncols + c];
	}
	free(rows);
	if (mem >= 0)
		H5Tclose(mem);
	return err;
}

static void blank_unknown(struct table *t, const char *unknown)
{
	for (unsigned c = 0; unknown && c < t->ncols; c++) {
		if (!h5__in_list(unknown, t->names[c]))
			continue;
		for (uint64_t i = 0; i < t->nrows; i++)
			t->cells[c * t->nrows + i] = NAN;
	}
}

static int read_table(hid_t dset, struct table *t)
{
	hid_t type = H5Dget_type(dset), space = H5Dget_space(dset);
	hsize_t rows = 0;
	int err;

	if (type < 0 || space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &rows, NULL) != 1)
		err = -EBADMSG;
	else
		err = read_columns(type, t);
	if (!err)
		err = check_storage(dset, rows, H5Tget_size(type));
	if (!err && rows > TABLE_MAX / (t->ncols * sizeof(double)))
		err = -EMSGSIZE;
	t->nrows = rows;
	if (!err)
		err = read_cells(dset, t);
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	return err;
}

int reader__table(const struct reader *r, const struct reader_node *n,
		  const struct reader_series *s, const char *table, struct table **out)
{
	struct table *t;
	hid_t dset;
	char *path;
	int err;

	if (asprintf(&path, s->grouped ? "%s/%s/%s" : "%s/%s", n->path, s->name, table) < 0)
		return -ENOMEM;
	dset = H5Dopen2(r->file, path, H5P_DEFAULT);
	free(path);
	if (dset < 0)
		return -ENOENT;
	t = calloc(1, sizeof(*t));
	err = t ? read_table(dset, t) : -ENOMEM;
	H5Dclose(dset);
	if (err) {
		table__free(t);
		return err;
	}
	blank_unknown(t, node__str(n, "Unknown Columns"));
	*out = t;
	return 0;
}

const double *table__column(const struct table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->names[i], name))
			return t->cells + i * t->nrows;
	return NULL;
}

void table__free(struct table *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->ncols; i++)
		free(t->names[i]);
	free(t->names);
	free(t->cells);
	free(t);
}
