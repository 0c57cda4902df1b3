/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a table whose rows are objects of JSON. */
#include "jobfile/store_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"

static size_t text_size(const json_t *rows, const char *name)
{
	size_t longest = 1, i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		size_t n = json_string_length(json_object_get(row, name));

		longest = n > longest ? n : longest;
	}
	return longest;
}

static hid_t text_type(size_t size)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, size);
	H5Tset_strpad(type, H5T_STR_NULLPAD);
	H5Tset_cset(type, H5T_CSET_UTF8);
	return type;
}

/* The type of a row, without padding; *size: its bytes. */
static hid_t row_type(const struct store_table *t, hid_t number, size_t *size)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, 1);

	*size = 0;
	for (unsigned i = 0; i < t->ncols; i++) {
		const struct store_column *c = &t->cols[i];
		hid_t own = c->is_number ? H5Tcopy(number) : text_type(text_size(t->rows, c->name));
		size_t n = H5Tget_size(own);

		H5Tset_size(type, *size + n);
		H5Tinsert(type, c->name, *size, own);
		H5Tclose(own);
		*size += n;
	}
	return type;
}

static void fill_row(const struct store_table *t, const json_t *row, hid_t type, char *out)
{
	for (unsigned i = 0; i < t->ncols; i++) {
		const json_t *v = json_object_get(row, t->cols[i].name);
		double number = json_is_number(v) ? json_number_value(v) : NAN;
		char *at = out + H5Tget_member_offset(type, i);

		if (t->cols[i].is_number)
			memcpy(at, &number, sizeof(number));
		else if (json_is_string(v))
			memcpy(at, json_string_value(v), json_string_length(v));
	}
}

static hid_t create(hid_t at, const char *name, hid_t type, hsize_t n)
{
	hid_t space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), set;

	h5__plain_attrs(dcpl);
	set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
	H5Pclose(dcpl);
	H5Sclose(space);
	return set;
}

hid_t store_table__create(hid_t at, const struct store_table *t)
{
	size_t n = json_array_size(t->rows), size;
	hid_t of_file = row_type(t, H5T_IEEE_F64LE, &size);
	hid_t type = row_type(t, H5T_NATIVE_DOUBLE, &size);
	hid_t set = create(at, t->name, of_file, n);
	char *rows = calloc(n * size + 1, 1);

	for (size_t i = 0; rows && i < n; i++)
		fill_row(t, json_array_get(t->rows, i), type, rows + i * size);
	if (set >= 0 &&
	    (!rows || (n && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0))) {
		H5Dclose(set);
		set = H5I_INVALID_HID;
	}
	free(rows);
	H5Tclose(type);
	H5Tclose(of_file);
	return set;
}
