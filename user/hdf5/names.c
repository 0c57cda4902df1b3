/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of what a group holds, in natural order. */
#include "hdf5/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_note.h"
#include "hdf5/h5util.h"

#define NAMES_MAX  65536
#define NAME_BYTES 255 /* bytes: a damaged group can give all its children the same long one */

/* Decimal numbers by value and before everything else, the rest in natural order. */
static int by_number(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t nx = strspn(x, "0123456789"), ny = strspn(y, "0123456789");
	bool dx = nx && !x[nx], dy = ny && !y[ny];

	if (dx != dy)
		return dx ? -1 : 1;
	if (dx && nx != ny)
		return nx < ny ? -1 : 1;
	return dx ? strcmp(x, y) : strverscmp(x, y);
}

bool names__has(const struct string_list *l, const char *name)
{
	return l->n && bsearch(&name, l->v, l->n, sizeof(*l->v), by_number);
}

struct walk {
	struct string_list *names;
	unsigned seen;
	H5O_type_t type;
	int err;
};

/* 1 or 0; -EBADMSG: a child that cannot be read is damaged, not of another type. */
static int is_type(hid_t group, const char *name, H5O_type_t type)
{
	char parent[512] = "";
	H5O_info_t obj;

	if (type == H5O_TYPE_UNKNOWN)
		return 1;
	if (H5Oget_info_by_name2(group, name, &obj, H5O_INFO_BASIC, H5P_DEFAULT) >= 0)
		return obj.type == type;
	H5Iget_name(group, parent, sizeof(parent));
	read_note__object("%s/%s", strcmp(parent, "/") ? parent : "", name);
	return -EBADMSG;
}

static bool can_follow(const char *name, const H5L_info_t *link)
{
	return link->type == H5L_TYPE_HARD && h5__name_ok(name) && strlen(name) <= NAME_BYTES;
}

/* A damaged group may name more children than it has, or the same ones for ever. */
static herr_t on_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
	struct walk *w = arg;
	int is;

	if (w->seen++ == NAMES_MAX) {
		w->err = -EMSGSIZE;
		return -1;
	}
	is = can_follow(name, link) ? is_type(group, name, w->type) : 0;
	w->err = is > 0 ? string_list__append(w->names, name) : is;
	return w->err ? -1 : 0;
}

int names__children(hid_t group, H5O_type_t type, struct string_list *out)
{
	struct walk w = {.names = out, .type = type};

	*out = (struct string_list){0};
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, &w) < 0) {
		string_list__free(out);
		return w.err ? w.err : -EBADMSG;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_number);
	return 0;
}
