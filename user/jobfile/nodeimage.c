/* SPDX-License-Identifier: GPL-2.0-only */
#include "jobfile/nodeimage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jobfile/nodeimage_internal.h"
#include "pool/message.h"

#define IMAGE_MAX                                                                      \
	(4u << 20) /* it is in memory several times: what is larger the library copies \
		    */
#define VALUE_MAX (64u << 10)
#define TYPE_MAX  (32u << 10)

/* Header messages of the file format that say what is not in an image: data in other files, an
 * unknown one, a comment, shared messages. Of later ones none is known. */
#define MESG_KNOWN_BITS 23
#define MESG_FOREIGN	(UINT64_C(1) << 7 | UINT64_C(1) << 9 | UINT64_C(1) << 13 | UINT64_C(1) << 15)
#define ATTRS_IN_ORDER	0x0c /* header flags: it keeps the order its attributes were made in */

struct nodeimage {
	struct message w;
	bool wanted;
	uint64_t row_bytes, rows_left; /* of the table that is under way */
	uint8_t type[TYPE_MAX];
	uint8_t value[VALUE_MAX];
};

int nodeimage__new(struct nodeimage **out)
{
	struct nodeimage *i = malloc(sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->w = (struct message){0};
	i->wanted = false;
	i->rows_left = 0;
	*out = i;
	return 0;
}

void nodeimage__free(struct nodeimage *i)
{
	if (i)
		free(i->w.p);
	free(i);
}

static bool is_simple_object(const H5O_info_t *obj)
{
	const uint64_t present = obj->hdr.mesg.present;

	return !(present & MESG_FOREIGN) && !(present >> MESG_KNOWN_BITS) &&
	       !obj->hdr.mesg.shared && !(obj->hdr.flags & ATTRS_IN_ORDER);
}

void nodeimage__begin(struct nodeimage *i, hid_t node)
{
	H5O_info_t obj;

	message__begin(&i->w);
	i->rows_left = 0;
	i->wanted = H5Oget_info2(node, &obj, H5O_INFO_BASIC | H5O_INFO_HDR) >= 0 &&
		    is_simple_object(&obj);
}

void nodeimage__spoil(struct nodeimage *i)
{
	i->wanted = false;
}

void nodeimage__look(struct nodeimage *i, const H5L_info_t *link, const H5O_info_t *obj)
{
	if (link->cset != H5T_CSET_ASCII || link->corder_valid || !is_simple_object(obj))
		i->wanted = false;
}

/* Begins a part; false: there is no image. */
static bool put_head(struct nodeimage *i, const struct nodeimage_head *h)
{
	i->wanted = i->wanted && !i->rows_left && i->w.len < IMAGE_MAX &&
		    h->bytes <= IMAGE_MAX - i->w.len;
	if (i->wanted)
		message__put(&i->w, h, sizeof(*h));
	return i->wanted;
}

void nodeimage__group(struct nodeimage *i, hid_t group, const char *name)
{
	struct nodeimage_head h = {.part = IMAGE_GROUP};
	H5G_info_t info;

	if (!i->wanted)
		return;
	i->wanted = H5Gget_info(group, &info) >= 0;
	h.n = i->wanted ? info.nlinks : 0;
	if (put_head(i, &h))
		message__put_text(&i->w, name);
}

/* Where there is room enough, the library does not say how much it took. */
static bool encode(struct nodeimage *i, hid_t type, struct nodeimage_head *h)
{
	size_t n = 0;

	if (H5Tcommitted(type) != 0 || H5Tencode(type, NULL, &n) < 0 || n > sizeof(i->type))
		return false;
	h->type_bytes = n;
	return H5Tencode(type, i->type, &n) >= 0;
}

/* One value or a list of them; h->rank, h->n. */
static bool has_simple_space(hid_t attr, struct nodeimage_head *h)
{
	hid_t space = H5Aget_space(attr);
	hsize_t now = 1, most = 1;
	H5S_class_t class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
	int rank = class == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;

	if (rank == 1)
		rank = H5Sget_simple_extent_dims(space, &now, &most);
	if (space >= 0)
		H5Sclose(space);
	h->rank = rank;
	h->n = now;
	return rank == 1 ? now == most : class == H5S_SCALAR;
}

static bool is_number_or_text(hid_t type)
{
	H5T_class_t class = H5Tget_class(type);

	return class == H5T_INTEGER || class == H5T_FLOAT ||
	       (class == H5T_STRING && !H5Tis_variable_str(type));
}

static bool take_value(struct nodeimage *i, hid_t attr, hid_t type, struct nodeimage_head *h)
{
	size_t size = H5Tget_size(type);

	if (!is_number_or_text(type) || !has_simple_space(attr, h) || !size || !h->n ||
	    h->n > VALUE_MAX / size)
		return false;
	h->bytes = h->n * size;
	return encode(i, type, h) && H5Aread(attr, type, i->value) >= 0;
}

void nodeimage__attr(struct nodeimage *i, const char *name, hid_t attr, hid_t type,
		     const H5A_info_t *info)
{
	struct nodeimage_head h = {.part = IMAGE_ATTR};

	if (!i->wanted)
		return;
	i->wanted = info->cset == H5T_CSET_ASCII && take_value(i, attr, type, &h);
	if (!put_head(i, &h))
		return;
	message__put_text(&i->w, name);
	message__put(&i->w, i->type, h.type_bytes);
	message__put(&i->w, i->value, h.bytes);
}

void nodeimage__table(struct nodeimage *i, const char *group, const char *name, hid_t type,
		      uint64_t rows)
{
	struct nodeimage_head h = {.part = IMAGE_TABLE, .n = rows};

	if (!i->wanted)
		return;
	i->row_bytes = H5Tget_size(type);
	i->wanted = rows && i->row_bytes && rows <= IMAGE_MAX / i->row_bytes && encode(i, type, &h);
	h.bytes = rows * i->row_bytes;
	if (!put_head(i, &h))
		return;
	message__put_text(&i->w, group);
	message__put_text(&i->w, name);
	message__put(&i->w, i->type, h.type_bytes);
	i->rows_left = rows;
}

void nodeimage__rows(struct nodeimage *i, const void *rows, size_t n)
{
	/* A piece between others is put without gaps. */
	i->wanted = i->wanted && n <= i->rows_left && !(n * i->row_bytes % 8);
	if (!i->wanted)
		return;
	message__put(&i->w, rows, n * i->row_bytes);
	i->rows_left -= n;
}

const struct message *nodeimage__bytes(struct nodeimage *i)
{
	return i->wanted && !i->rows_left && i->w.len && !i->w.bad ? &i->w : NULL;
}
