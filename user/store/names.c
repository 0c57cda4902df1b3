/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/h5util.h"

#define NAMES_MAX 65536

void names__free(struct names *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct names){0};
}

bool names__has(const struct names *l, const char *name)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

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

struct walk {
	struct names *names;
	unsigned room;
	H5O_type_t type;
	int err;
};

static bool is_type(hid_t group, const char *name, H5O_type_t type)
{
	H5O_info_t obj;

	return type == H5O_TYPE_UNKNOWN ||
	       (H5Oget_info_by_name2(group, name, &obj, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
		obj.type == type);
}

/* A damaged group may name more children than it has, or the same ones for ever. */
static herr_t on_link(hid_t group, const char *name, const H5L_info_t *link, void *arg)
{
	struct walk *w = arg;
	struct names *l = w->names;
	char **v;

	if (link->type != H5L_TYPE_HARD || !h5__name_ok(name) || !is_type(group, name, w->type))
		return 0;
	w->err = l->n == NAMES_MAX ? -EMSGSIZE : 0;
	if (!w->err && l->n == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		v = realloc(l->v, w->room * sizeof(*v));
		w->err = v ? 0 : -ENOMEM;
		l->v = v ? v : l->v;
	}
	if (w->err)
		return -1;
	l->v[l->n] = strdup(name);
	if (l->v[l->n])
		l->n++;
	else
		w->err = -ENOMEM;
	return w->err ? -1 : 0;
}

int names__children(hid_t group, H5O_type_t type, struct names *out)
{
	struct walk w = {.names = out, .type = type};

	*out = (struct names){0};
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, &w) < 0) {
		names__free(out);
		return w.err ? w.err : -EBADMSG;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_number);
	return 0;
}
