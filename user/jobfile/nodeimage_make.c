/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5record.h"
#include "hdf5/h5util.h"
#include "jobfile/nodeimage.h"
#include "jobfile/nodeimage_internal.h"
#include "pool/message.h"

#define TYPES	  16
#define FEW_LINKS 64 /* that lie in the group's header */

/* Nodes have few types, and the same ones. */
struct known_type {
	uint8_t *encoded;
	size_t bytes;
	hid_t id;
};

struct nodeimage_maker {
	hid_t scalar, one; /* spaces */
	hid_t dcpl;
	struct known_type types[TYPES];
	unsigned next;
};

/* A node that is being made. */
struct making {
	struct nodeimage_maker *m;
	struct message w;
	hid_t node;
	hid_t group; /* the last one, or invalid */
	const char *group_name;
	uint64_t *rows; /* or NULL */
};

int nodeimage_maker__new(struct nodeimage_maker **out)
{
	struct nodeimage_maker *m = calloc(1, sizeof(*m));
	const hsize_t one = 1;

	if (!m)
		return -ENOMEM;
	m->scalar = H5Screate(H5S_SCALAR);
	m->one = H5Screate_simple(1, &one, NULL);
	m->dcpl = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(m->dcpl, false);
	H5Pset_fill_time(m->dcpl, H5D_FILL_TIME_NEVER);
	*out = m;
	return 0;
}

static void forget(struct known_type *t)
{
	if (t->encoded)
		H5Tclose(t->id);
	free(t->encoded);
	*t = (struct known_type){0};
}

void nodeimage_maker__free(struct nodeimage_maker *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < TYPES; i++)
		forget(&m->types[i]);
	H5Sclose(m->scalar);
	H5Sclose(m->one);
	H5Pclose(m->dcpl);
	free(m);
}

/* The maker's; 0 or -errno. */
static int type_of(struct nodeimage_maker *m, const uint8_t *encoded, size_t bytes, hid_t *id)
{
	struct known_type *t = &m->types[m->next];

	for (unsigned i = 0; i < TYPES; i++) {
		if (m->types[i].bytes == bytes && !memcmp(m->types[i].encoded, encoded, bytes)) {
			*id = m->types[i].id;
			return 0;
		}
	}
	forget(t);
	*id = H5Tdecode(encoded);
	if (*id < 0)
		return -EBADMSG;
	t->encoded = malloc(bytes);
	if (!t->encoded) {
		H5Tclose(*id);
		return -ENOMEM;
	}
	memcpy(t->encoded, encoded, bytes);
	t->bytes = bytes;
	t->id = *id;
	m->next = (m->next + 1) % TYPES;
	return 0;
}

/* The type that follows, whose elements take as many bytes as the part has. */
static int take_type(struct making *k, const struct nodeimage_head *h, hid_t *id)
{
	const uint8_t *encoded = h->type_bytes ? message__take(&k->w, h->type_bytes) : NULL;
	int err = encoded ? type_of(k->m, encoded, h->type_bytes, id) : -EBADMSG;
	size_t size = err ? 0 : H5Tget_size(*id);

	if (err)
		return err;
	return size && h->n && h->n <= k->w.len / size && h->n * size == h->bytes ? 0 : -EBADMSG;
}

static void leave_group(struct making *k)
{
	if (k->group >= 0)
		H5Gclose(k->group);
	k->group = H5I_INVALID_HID;
}

static int make_group(struct making *k, const struct nodeimage_head *h)
{
	const char *name = message__take_text(&k->w);

	leave_group(k);
	if (k->w.bad || !h5__name_ok(name))
		return -EBADMSG;
	k->group =
		h->n > FEW_LINKS ? h5__create_list(k->node, name) : h5__create_group(k->node, name);
	k->group_name = name;
	return k->group < 0 ? h5__error() : 0;
}

/* The tables of a group follow each other. */
static int enter_group(struct making *k, const char *name)
{
	if (k->group >= 0 && !strcmp(k->group_name, name))
		return 0;
	leave_group(k);
	if (!h5__name_ok(name))
		return -EBADMSG;
	k->group = H5Gopen2(k->node, name, H5P_DEFAULT);
	k->group_name = name;
	return k->group < 0 ? h5__error() : 0;
}

static int make_attr(struct making *k, const struct nodeimage_head *h)
{
	const char *name = message__take_text(&k->w);
	hid_t type, space, attr;
	int err = k->w.bad ? -EBADMSG : take_type(k, h, &type);
	const void *value = err ? NULL : message__take(&k->w, h->bytes);
	const hsize_t n = h->n;

	if (!value || h->rank > 1)
		return err ? err : -EBADMSG;
	space = !h->rank ? k->m->scalar : n == 1 ? k->m->one : H5Screate_simple(1, &n, NULL);
	attr = H5Acreate2(k->group < 0 ? k->node : k->group, name, type, space, H5P_DEFAULT,
			  H5P_DEFAULT);
	err = attr < 0 || H5Awrite(attr, type, value) < 0 ? h5__error() : 0;
	if (attr >= 0)
		H5Aclose(attr);
	if (h->rank && n != 1)
		H5Sclose(space);
	return err;
}

static int make_table(struct making *k, const struct nodeimage_head *h)
{
	const char *group = message__take_text(&k->w), *name = message__take_text(&k->w);
	hid_t type, space, dset;
	int err = k->w.bad || !h5__name_ok(name) ? -EBADMSG : take_type(k, h, &type);
	const void *rows = err ? NULL : message__take(&k->w, h->bytes);
	const hsize_t n = h->n;

	if (rows && *group)
		err = enter_group(k, group);
	if (err || !rows)
		return err ? err : -EBADMSG;
	space = H5Screate_simple(1, &n, NULL);
	dset = H5Dcreate2(*group ? k->group : k->node, name, type, space, H5P_DEFAULT, k->m->dcpl,
			  H5P_DEFAULT);
	if (dset < 0 || H5Dwrite(dset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)
		err = h5__error();
	if (k->rows)
		*k->rows = h5record__add_rows(*k->rows, rows, h->bytes);
	if (dset >= 0)
		H5Dclose(dset);
	H5Sclose(space);
	return err;
}

static int make_part(struct making *k)
{
	static int (*const make[])(struct making *, const struct nodeimage_head *) = {
		[IMAGE_GROUP] = make_group,
		[IMAGE_ATTR] = make_attr,
		[IMAGE_TABLE] = make_table,
	};
	const struct nodeimage_head *h = message__take(&k->w, sizeof(*h));

	return h && h->part <= IMAGE_TABLE ? make[h->part](k, h) : -EBADMSG;
}

int nodeimage_maker__make(struct nodeimage_maker *m, hid_t node, const void *image, size_t bytes,
			  uint64_t *rows)
{
	struct making k = {
		.m = m,
		.w = {.p = (uint8_t *)image, .len = bytes},
		.node = node,
		.group = H5I_INVALID_HID,
		.rows = rows,
	};
	int err = 0;

	while (!err && k.w.at < k.w.len)
		err = make_part(&k);
	leave_group(&k);
	return err;
}
