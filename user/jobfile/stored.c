/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results in /analysis as JSON. Only hard links are followed, and only to bytes of this file. */
#include "jobfile/stored.h"

#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "hdf5/h5util.h"
#include "hdf5/names.h"

#define DEPTH_MAX    6
#define ATTRS_MAX    256
#define CHILDREN_MAX 4096
#define ROWS_MAX     20000
#define COLUMNS_MAX  64
#define TEXT_MAX     4096

static bool is_hard(hid_t at, const char *name)
{
	H5L_info_t link;

	return H5Lexists(at, name, H5P_DEFAULT) > 0 &&
	       H5Lget_info(at, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

/* ---- attributes */

static json_t *attr_json(hid_t attr)
{
	hid_t type = H5Aget_type(attr);
	H5T_class_t class = H5Tget_class(type);
	json_t *v = NULL;
	double number;
	char *text;

	if (class == H5T_STRING && !h5__get_text(attr, type, TEXT_MAX, &text)) {
		v = json__text(text);
		free(text);
	} else if ((class == H5T_FLOAT || class == H5T_INTEGER) &&
		   H5Aget_storage_size(attr) == H5Tget_size(type) &&
		   H5Aread(attr, H5T_NATIVE_DOUBLE, &number) >= 0) {
		v = json__number(number);
	}
	H5Tclose(type);
	return v;
}

static herr_t put_attr(hid_t at, const char *name, const H5A_info_t *info, void *arg)
{
	hid_t attr = H5Aopen(at, name, H5P_DEFAULT);
	json_t *object = arg, *v = attr >= 0 ? attr_json(attr) : NULL;

	(void)info;
	if (attr >= 0)
		H5Aclose(attr);
	if (v)
		json_object_set_new(object, name, v);
	return json_object_size(object) >= ATTRS_MAX;
}

/* ---- tables */

/* How a row lies in memory: each number as a double, each text with its own length. */
struct shape {
	hid_t type;
	size_t bytes;
	unsigned n;
	struct {
		char *name;
		size_t at, size; /* size 0: a number */
	} cols[COLUMNS_MAX];
};

static void add_column(struct shape *s, hid_t row, unsigned i)
{
	hid_t own = H5Tget_member_type(row, i);
	H5T_class_t class = H5Tget_class(own);
	bool is_text = class == H5T_STRING && H5Tis_variable_str(own) == 0;
	size_t size = is_text ? H5Tget_size(own) : sizeof(double);

	if ((is_text && size <= TEXT_MAX) || class == H5T_FLOAT || class == H5T_INTEGER) {
		s->cols[s->n].name = H5Tget_member_name(row, i);
		s->cols[s->n].at = s->bytes;
		s->cols[s->n].size = is_text ? size : 0;
		H5Tset_size(s->type, s->bytes + size);
		H5Tinsert(s->type, s->cols[s->n++].name, s->bytes,
			  is_text ? own : H5T_NATIVE_DOUBLE);
		s->bytes += size;
	}
	H5Tclose(own);
}

static struct shape shape_of(hid_t row)
{
	struct shape s = {.type = H5Tcreate(H5T_COMPOUND, 1)};
	int n = H5Tget_class(row) == H5T_COMPOUND ? H5Tget_nmembers(row) : 0;

	for (int i = 0; i < n && s.n < COLUMNS_MAX; i++)
		add_column(&s, row, (unsigned)i);
	return s;
}

static json_t *row_json(const struct shape *s, const char *row)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < s->n; i++) {
		char text[TEXT_MAX + 1];
		double v;

		if (s->cols[i].size) {
			memcpy(text, row + s->cols[i].at, s->cols[i].size);
			text[s->cols[i].size] = 0;
			json__set(o, s->cols[i].name, json__text(text));
		} else {
			memcpy(&v, row + s->cols[i].at, sizeof(v));
			json__set(o, s->cols[i].name, json__number(v));
		}
	}
	return o;
}

/* Whether its bytes are in this file. */
static bool is_own(hid_t set)
{
	hid_t dcpl = H5Dget_create_plist(set);
	bool own = H5Pget_external_count(dcpl) == 0 && H5Pget_layout(dcpl) != H5D_VIRTUAL;

	H5Pclose(dcpl);
	return own;
}

static json_t *rows_json(hid_t set, hsize_t n)
{
	hid_t row = H5Dget_type(set);
	struct shape s = shape_of(row);
	char *rows = s.n ? calloc(n + 1, s.bytes) : NULL;
	json_t *a = NULL;

	if (rows && H5Dread(set, s.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0) {
		a = json_array();
		for (hsize_t i = 0; i < n; i++)
			json_array_append_new(a, row_json(&s, rows + i * s.bytes));
	}
	free(rows);
	for (unsigned i = 0; i < s.n; i++)
		H5free_memory(s.cols[i].name);
	H5Tclose(s.type);
	H5Tclose(row);
	return a;
}

static json_t *table_json(hid_t at, const char *name)
{
	hid_t set = H5Dopen2(at, name, H5P_DEFAULT), space;
	json_t *a = NULL;
	hsize_t n;

	if (set < 0)
		return NULL;
	space = H5Dget_space(set);
	if (space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
	    H5Sget_simple_extent_dims(space, &n, NULL) == 1 && n <= ROWS_MAX && is_own(set))
		a = rows_json(set, n);
	if (space >= 0)
		H5Sclose(space);
	H5Dclose(set);
	return a;
}

/* ---- groups */

/* What is read; but: the name of tables that are not, or NULL. */
static json_t *group_json(hid_t at, const char *name, const char *but, unsigned depth);

static void put_children(hid_t g, H5O_type_t type, const char *but, unsigned depth, json_t *object)
{
	struct string_list names = {0};

	if (names__children(g, type, &names))
		return;
	for (unsigned i = 0; i < names.n && i < CHILDREN_MAX; i++) {
		json_t *v = type == H5O_TYPE_GROUP ? group_json(g, names.v[i], but, depth + 1)
			    : but && !strcmp(names.v[i], but) ? NULL
							      : table_json(g, names.v[i]);

		if (v)
			json_object_set_new(object, names.v[i], v);
	}
	string_list__free(&names);
}

static json_t *group_json(hid_t at, const char *name, const char *but, unsigned depth)
{
	hid_t g = depth < DEPTH_MAX ? H5Gopen2(at, name, H5P_DEFAULT) : H5I_INVALID_HID;
	json_t *object = g >= 0 ? json_object() : NULL;
	hsize_t first = 0;

	if (g < 0)
		return NULL;
	H5Aiterate2(g, H5_INDEX_NAME, H5_ITER_NATIVE, &first, put_attr, object);
	put_children(g, H5O_TYPE_GROUP, but, depth, object);
	put_children(g, H5O_TYPE_DATASET, but, depth, object);
	H5Gclose(g);
	return object;
}

/* /analysis, if it has a member of that name and of this file; < 0: it has not. */
static hid_t open_root(const struct reader *r, const char *name, H5O_type_t *type)
{
	hid_t root = is_hard(r->file, "analysis") ? H5Gopen2(r->file, "analysis", H5P_DEFAULT)
						  : H5I_INVALID_HID;
	H5O_info_t info;

	if (root < 0)
		return root;
	if (is_hard(root, name) && H5Oget_info_by_name(root, name, &info, H5P_DEFAULT) >= 0) {
		*type = info.type;
		return root;
	}
	H5Gclose(root);
	return H5I_INVALID_HID;
}

json_t *stored__read(const struct reader *r, const char *name, const char *but)
{
	H5O_type_t type;
	hid_t root = open_root(r, name, &type);
	json_t *v = NULL;

	if (root < 0)
		return NULL;
	v = type == H5O_TYPE_GROUP     ? group_json(root, name, but, 0)
	    : type == H5O_TYPE_DATASET ? table_json(root, name)
				       : NULL;
	H5Gclose(root);
	return v;
}

static char *text_of(hid_t set, size_t most)
{
	hid_t type = H5Dget_type(set), space = H5Dget_space(set);
	size_t size = H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type)
			      ? H5Tget_size(type)
			      : 0;
	bool is_text =
		size > 0 && size <= most && H5Sget_simple_extent_npoints(space) == 1 && is_own(set);
	char *text = is_text ? calloc(1, size + 1) : NULL;

	if (text && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
		free(text);
		text = NULL;
	}
	H5Sclose(space);
	H5Tclose(type);
	return text;
}

/* Opens the table of that name; < 0: there is none. */
static hid_t open_set(const struct reader *r, const char *name)
{
	H5O_type_t type;
	hid_t root = open_root(r, name, &type), set = H5I_INVALID_HID;

	if (root < 0)
		return root;
	if (type == H5O_TYPE_DATASET)
		set = H5Dopen2(root, name, H5P_DEFAULT);
	H5Gclose(root);
	return set;
}

char *stored__text(const struct reader *r, const char *name, size_t most)
{
	hid_t set = open_set(r, name);
	char *text;

	if (set < 0)
		return NULL;
	text = text_of(set, most);
	H5Dclose(set);
	return text;
}

/* The bytes of a table that lie in the file as they are. */
static uint8_t *bytes_of(hid_t set, size_t most, size_t *n)
{
	hid_t type = H5Dget_type(set), space = H5Dget_space(set), dcpl = H5Dget_create_plist(set);
	const hssize_t points = H5Sget_simple_extent_npoints(space);
	const bool are_plain = H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 &&
			       H5Pget_layout(dcpl) == H5D_CONTIGUOUS && is_own(set);
	uint8_t *bytes =
		are_plain && points > 0 && (size_t)points <= most ? malloc((size_t)points) : NULL;

	if (bytes && H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0) {
		free(bytes);
		bytes = NULL;
	}
	*n = bytes ? (size_t)points : 0;
	H5Pclose(dcpl);
	H5Sclose(space);
	H5Tclose(type);
	return bytes;
}

/* The end of gzip's bytes has the size of the text. */
static char *unpacked(const uint8_t *bytes, size_t n, size_t most)
{
	struct libdeflate_decompressor *d = n > 4 ? libdeflate_alloc_decompressor() : NULL;
	size_t size = 0, used;
	char *text;

	for (unsigned i = 0; d && i < 4; i++)
		size |= (size_t)bytes[n - 4 + i] << 8 * i;
	text = d && size <= most ? calloc(1, size + 1) : NULL;
	if (text && (libdeflate_gzip_decompress_ex(d, bytes, n, text, size, &used, NULL) !=
			     LIBDEFLATE_SUCCESS ||
		     used != n)) {
		free(text);
		text = NULL;
	}
	libdeflate_free_decompressor(d);
	return text;
}

char *stored__page(const struct reader *r, size_t most, json_t **by)
{
	hid_t set = open_set(r, "page");
	hsize_t first = 0;
	uint8_t *bytes;
	char *text;
	size_t n;

	*by = NULL;
	if (set < 0)
		return NULL;
	bytes = bytes_of(set, most, &n);
	text = bytes ? unpacked(bytes, n, most) : NULL;
	if (text) {
		*by = json_object();
		H5Aiterate2(set, H5_INDEX_NAME, H5_ITER_NATIVE, &first, put_attr, *by);
	}
	free(bytes);
	H5Dclose(set);
	return text;
}
