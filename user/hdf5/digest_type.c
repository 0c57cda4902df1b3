/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Digests of HDF5 types, with a cache of those that were seen before. */
#include "hdf5/digest_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "hdf5/digest.h"

#define ENTRIES	    32
#define MEMBERS_MAX 4096
#define ENCODED_MAX (1u << 20)
#define ENUM_BYTES  64 /* of a value */

struct entry {
	uint8_t *encoded;
	size_t size;
	uint64_t digest;
};

struct type_cache {
	struct entry entries[ENTRIES];
	unsigned next;
	uint8_t *buf;
	size_t room;
};

struct type_cache *type_cache__new(void)
{
	return calloc(1, sizeof(struct type_cache));
}

void type_cache__free(struct type_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < ENTRIES; i++)
		free(c->entries[i].encoded);
	free(c->buf);
	free(c);
}

/* An array's size says nothing of its shape. */
static int add_dims(hid_t type, uint64_t *digest)
{
	hsize_t dims[H5S_MAX_RANK];
	int rank = H5Tget_array_ndims(type);

	if (rank < 1 || rank > H5S_MAX_RANK || H5Tget_array_dims2(type, dims) != rank)
		return -EBADMSG;
	*digest = digest__add(*digest, dims, rank * sizeof(*dims));
	return 0;
}

static uint64_t add_number(uint64_t digest, uint64_t v)
{
	return digest__add(digest, &v, sizeof(v));
}

/* Which bits of its bytes are the number. */
static uint64_t add_bits(hid_t type, uint64_t digest)
{
	H5T_pad_t low = H5T_PAD_ERROR, high = H5T_PAD_ERROR;
	uint64_t v[4] = {H5Tget_order(type), H5Tget_precision(type), 0, 0};

	v[2] = (uint64_t)H5Tget_offset(type);
	H5Tget_pad(type, &low, &high);
	v[3] = (uint64_t)low << 8 | high;
	return digest__add(digest, v, sizeof(v));
}

static uint64_t add_float(hid_t type, uint64_t digest)
{
	size_t f[5] = {0};
	uint64_t v[3] = {H5Tget_ebias(type), H5Tget_norm(type), H5Tget_inpad(type)};

	H5Tget_fields(type, &f[0], &f[1], &f[2], &f[3], &f[4]);
	return digest__add(digest__add(digest, f, sizeof(f)), v, sizeof(v));
}

/* The names and values of an enumeration, in the order of the type. */
static int add_enum(hid_t type, uint64_t *digest)
{
	const int n = H5Tget_nmembers(type);
	const size_t size = H5Tget_size(type);
	uint8_t value[ENUM_BYTES];

	if (n < 0 || !size)
		return -EBADMSG;
	if (n > MEMBERS_MAX || size > sizeof(value))
		return -ENOTSUP;
	*digest = add_number(*digest, n);
	for (int i = 0; i < n; i++) {
		char *name = H5Tget_member_name(type, i);

		if (!name || H5Tget_member_value(type, i, value) < 0) {
			H5free_memory(name);
			return -EBADMSG;
		}
		*digest = digest__add(digest__text(*digest, name), value, size);
		H5free_memory(name);
	}
	return 0;
}

static int add_opaque(hid_t type, uint64_t *digest)
{
	char *tag = H5Tget_tag(type);

	if (!tag)
		return -EBADMSG;
	*digest = digest__text(*digest, tag);
	H5free_memory(tag);
	return 0;
}

static int simple_digest(hid_t type, uint64_t *digest);

/* What an enumeration or an array is made of. */
static int add_super(hid_t type, uint64_t *digest)
{
	hid_t super = H5Tget_super(type);
	int err = super < 0 || H5Tget_class(super) == H5T_ARRAY ? -ENOTSUP
								: simple_digest(super, digest);

	if (super >= 0)
		H5Tclose(super);
	return err;
}

/* Numbers and fixed strings, and arrays of numbers. */
static int simple_digest(hid_t type, uint64_t *digest)
{
	H5T_class_t class = H5Tget_class(type);
	uint64_t v[3] = {class, H5Tget_size(type), 0};
	int err = 0;

	switch (class) {
	case H5T_INTEGER:
		v[2] = H5Tget_sign(type);
		*digest = add_bits(type, *digest);
		break;
	case H5T_FLOAT:
		*digest = add_float(type, *digest);
		*digest = add_bits(type, *digest);
		break;
	case H5T_BITFIELD:
		*digest = add_bits(type, *digest);
		break;
	case H5T_STRING:
		if (H5Tis_variable_str(type))
			return -ENOTSUP;
		v[2] = (uint64_t)H5Tget_cset(type) << 8 | H5Tget_strpad(type);
		break;
	case H5T_OPAQUE:
		err = add_opaque(type, digest);
		break;
	case H5T_ENUM:
		err = add_enum(type, digest);
		if (!err)
			err = add_super(type, digest);
		break;
	case H5T_ARRAY:
		err = add_dims(type, digest);
		if (!err)
			err = add_super(type, digest);
		break;
	default:
		return class < 0 ? -EBADMSG : -ENOTSUP;
	}
	*digest = digest__add(*digest, v, sizeof(v));
	return err;
}

static int member_digest(hid_t type, unsigned i, uint64_t *digest)
{
	char *name = H5Tget_member_name(type, i);
	hid_t member = H5Tget_member_type(type, i);
	uint64_t offset = H5Tget_member_offset(type, i);
	int err = name && member >= 0 ? 0 : -EBADMSG;

	if (!err) {
		*digest = digest__add(digest__text(*digest, name), &offset, sizeof(offset));
		err = simple_digest(member, digest);
	}
	if (member >= 0)
		H5Tclose(member);
	H5free_memory(name);
	return err;
}

int type__digest(hid_t type, uint64_t *digest)
{
	int n = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0, err = 0;
	uint64_t size = H5Tget_size(type);

	if (!n)
		return simple_digest(type, digest);
	if (n < 0)
		return -EBADMSG;
	if (n > MEMBERS_MAX)
		return -ENOTSUP;
	*digest = digest__add(*digest, &size, sizeof(size));
	for (int i = 0; !err && i < n; i++)
		err = member_digest(type, i, digest);
	return err;
}

/* The library says how much it takes only where there is no room for it. */
static int encode(struct type_cache *c, hid_t type, size_t *size)
{
	*size = 0;
	if (H5Tencode(type, NULL, size) < 0)
		return -EBADMSG;
	if (*size > ENCODED_MAX)
		return -ENOTSUP;
	if (room__make(&c->buf, &c->room, *size, 1))
		return -ENOMEM;
	return H5Tencode(type, c->buf, size) < 0 ? -EBADMSG : 0;
}

static int learn_type(struct type_cache *c, hid_t type, size_t size, uint64_t *digest)
{
	struct entry *e = &c->entries[c->next];
	int err = type__digest(type, digest);

	if (err)
		return err;
	c->next = (c->next + 1) % ENTRIES;
	free(e->encoded);
	*e = (struct entry){malloc(size), 0, *digest};
	if (!e->encoded)
		return -ENOMEM;
	memcpy(e->encoded, c->buf, size);
	e->size = size;
	return 0;
}

int type_cache__digest(struct type_cache *c, hid_t type, uint64_t *digest)
{
	uint64_t own = 0;
	size_t size;
	int err = encode(c, type, &size);

	if (err)
		return err;
	for (unsigned i = 0; i < ENTRIES; i++) {
		if (c->entries[i].size == size && !memcmp(c->entries[i].encoded, c->buf, size)) {
			*digest = digest__add(*digest, &c->entries[i].digest, sizeof(own));
			return 0;
		}
	}
	err = learn_type(c, type, size, &own);
	if (!err)
		*digest = digest__add(*digest, &own, sizeof(own));
	return err;
}
