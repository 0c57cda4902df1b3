/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of a table, from the type of its rows. */
#include "hdf5/cursor_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hdf5/h5util.h"

#define ROW_MAX	       (1u << 20) /* bytes in the file */
#define COLUMNS_MAX    4096
#define ARRAY_NAME_MAX 255 /* every element repeats it */

/* Integers and IEEE floats are numbers; strings and home-made floats are left out. */
static bool number_type(hid_t type, enum col_type *out)
{
	const hid_t floats[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
	size_t size = H5Tget_size(type);

	if (H5Tget_class(type) == H5T_INTEGER) {
		*out = H5Tget_sign(type) == H5T_SGN_NONE ? COL_U64 : COL_I64;
		return size == 1 || size == 2 || size == 4 || size == 8;
	}
	*out = COL_F64;
	for (unsigned i = 0; i < 4; i++)
		if (H5Tequal(type, floats[i]) > 0)
			return true;
	return false;
}

/* How many numbers an array of one dimension holds; 0: it is no such, or of more than max. */
static unsigned array_length(hid_t type, unsigned max, enum col_type *out)
{
	hsize_t n = 0;
	bool good = false;
	hid_t of;

	if (H5Tget_class(type) != H5T_ARRAY || H5Tget_array_ndims(type) != 1 ||
	    H5Tget_array_dims2(type, &n) != 1 || n > max)
		return 0;
	of = H5Tget_super(type);
	/* A damaged file may give it another size than its elements have. */
	if (of >= 0) {
		good = number_type(of, out) && n * H5Tget_size(of) == H5Tget_size(type);
		H5Tclose(of);
	}
	return good ? n : 0;
}

/* The library does not check that a row holds its members, and reads beyond it. */
static bool within_row(hid_t type, int i, hid_t member)
{
	size_t row = H5Tget_size(type), size = H5Tget_size(member);

	return size && size <= row && H5Tget_member_offset(type, i) <= row - size;
}

/* While the columns are made: there is room for as many as there are members, and spare more may
 * come of their arrays. */
struct making {
	struct cursor *c;
	unsigned room, spare;
	bool arrays;
};

static int add_number(struct making *m, const char *name, enum col_type type)
{
	struct cursor_column *col = &m->c->cols[m->c->ncols];

	*col = (struct cursor_column){.name = strdup(name), .type = type};
	m->c->ncols += col->name != NULL;
	return col->name ? 0 : -ENOMEM;
}

static int add_array(struct making *m, const char *name, enum col_type type, unsigned n)
{
	struct cursor *c = m->c;
	const unsigned first = c->ncols, room = m->room + n - 1;
	struct cursor_column *cols = realloc(c->cols, room * sizeof(*cols));

	if (!cols)
		return -ENOMEM;
	c->cols = cols;
	m->room = room;
	m->spare -= n - 1;
	m->arrays = true;
	for (unsigned i = 0; i < n; i++) {
		char *full;

		if (asprintf(&full, "%s%u", name, i) < 0)
			return -ENOMEM;
		c->cols[c->ncols++] = (struct cursor_column){.name = full, .type = type};
	}
	c->cols[first].array = n;
	return 0;
}

static int add_member(struct making *m, hid_t type, int i, hid_t member)
{
	enum col_type kind;
	bool number = number_type(member, &kind);
	unsigned n = number ? 0 : array_length(member, m->spare + 1, &kind);
	char *name = number || n ? H5Tget_member_name(type, i) : NULL;
	int err = 0;

	if (name && number)
		err = add_number(m, name, kind);
	else if (name && strlen(name) <= ARRAY_NAME_MAX)
		err = add_array(m, name, kind, n);
	else
		m->c->others = true;
	H5free_memory(name);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The library sees to the names of members, but not to what comes of an array's. */
static int check_names(const struct cursor *c)
{
	_cleanup_free_ char **names = calloc(c->ncols, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++)
		names[i] = c->cols[i].name;
	qsort(names, c->ncols, sizeof(*names), by_name);
	for (unsigned i = 1; i < c->ncols; i++)
		if (!strcmp(names[i - 1], names[i]))
			return -EBADMSG;
	return 0;
}

int cursor_columns__read(hid_t type, struct cursor *c)
{
	int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : -1, err = 0;
	size_t size = H5Tget_size(type);
	struct making m = {.c = c};

	if (size > ROW_MAX)
		return -EMSGSIZE;
	if (!size || n < 1 || n > COLUMNS_MAX)
		return -EBADMSG;
	c->others = false;
	c->cols = calloc(n, sizeof(*c->cols));
	if (!c->cols)
		return -ENOMEM;
	m.room = n;
	m.spare = COLUMNS_MAX - n;
	for (int i = 0; !err && i < n; i++) {
		hid_t member = H5Tget_member_type(type, i);

		err = member >= 0 && within_row(type, i, member) ? add_member(&m, type, i, member)
								 : -EBADMSG;
		if (member >= 0)
			H5Tclose(member);
	}
	if (!err && m.arrays)
		err = check_names(c);
	return err ? err : c->ncols ? 0 : -ENOTSUP;
}

int cursor_columns__memory(const struct cursor *c, hid_t *out)
{
	_cleanup_free_ struct column *cols = calloc(c->ncols, sizeof(*cols));

	if (!cols)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++)
		cols[i] = (struct column){
			.name = c->cols[i].name,
			.type = c->cols[i].type,
			.array = c->cols[i].array,
		};
	*out = h5__row_type(cols, c->ncols, false);
	return *out < 0 ? -EBADMSG : 0;
}
