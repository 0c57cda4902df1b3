/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Digests of tables and attributes. */
#include "hdf5/digest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "hdf5/cursor_chunk.h"
#include "hdf5/digest_type.h"
#include "hdf5/h5file.h"
#include "hdf5/h5util.h"

#define BLOCK_BYTES (1u << 20)
#define ATTR_BYTES  (1u << 20)
#define CHUNK_MAX   (72u << 20) /* what the reader takes, and deflate's overhead */
#define PIECE_BYTES (64u << 10)
/* Deflate cannot do better than 1:1032. */
#define DEFLATE_RATIO 1040u

struct digester {
	bool decode; /* what is compressed */
	struct type_cache *types;
	hid_t dapl;
	struct h5chunk chunk;
	struct chunks *chunks;
	uint8_t piece[PIECE_BYTES]; /* of rows, however they come */
	uint8_t *buf;
	size_t room;
};

/* A table while it is read. */
struct one {
	struct digester *d;
	hid_t dset, type, space, dcpl;
	uint64_t file_size;
	hsize_t rows, max_rows;
	size_t row_bytes;
	uint64_t digest;
	uint64_t chunks;
	size_t filled; /* of the piece */
	bool decode;   /* chunks are decoded, to see whether they can be */
	struct chunk_shape shape;
};

static uint64_t add_number(uint64_t h, uint64_t v)
{
	return digest__add(h, &v, sizeof(v));
}

int digester__new(struct digester **out)
{
	struct digester *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->types = type_cache__new();
	d->chunks = chunks__new();
	d->dapl = H5Pcreate(H5P_DATASET_ACCESS);
	/* Chunks are taken as they are: a cache of decoded ones would only cost. */
	if (!d->types || !d->chunks || H5Pset_chunk_cache(d->dapl, 1, 0, 1) < 0) {
		digester__free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void digester__free(struct digester *d)
{
	if (!d)
		return;
	type_cache__free(d->types);
	if (d->dapl >= 0)
		H5Pclose(d->dapl);
	chunks__free(d->chunks);
	free(d->chunk.bytes);
	free(d->buf);
	free(d);
}

void digester__decode(struct digester *d, bool decode)
{
	d->decode = decode;
}

/* Whether it was never written. Asking for a chunk's place walks through all of the library's
 * index, but releases agree on one that is not there. */
static bool is_absent(const struct one *o, hsize_t at)
{
	haddr_t addr = HADDR_UNDEF;
	hsize_t size = 0;
	unsigned mask;

	if (H5Dget_chunk_storage_size(o->dset, &at, &size) >= 0 && !size)
		return true;
	return H5Dget_chunk_info_by_coord(o->dset, &at, &mask, &addr, &size) >= 0 &&
	       (addr == HADDR_UNDEF || !size);
}

static int add_chunk(struct one *o, hsize_t at)
{
	struct h5chunk *c = &o->d->chunk;
	uint64_t max = o->file_size < CHUNK_MAX ? o->file_size : CHUNK_MAX;
	int err = h5chunk__read(c, o->dset, at, max);

	if (err == -ENODATA)
		return is_absent(o, at) ? 0 : -EBADMSG;
	if (!err && o->decode)
		err = chunks__check(o->d->chunks, &o->shape, c);
	if (err)
		return err;
	o->digest = add_number(add_number(o->digest, at), c->mask);
	o->digest = digest__add(o->digest, c->bytes, c->size);
	o->chunks++;
	return 0;
}

static int add_filters(struct one *o)
{
	int n = H5Pget_nfilters(o->dcpl);

	for (int i = 0; i < n; i++) {
		unsigned flags, cd[16] = {0};
		size_t ncd = 16;
		H5Z_filter_t f = H5Pget_filter2(o->dcpl, i, &flags, &ncd, cd, 0, NULL, NULL);

		if (f < 0 || ncd > 16)
			return -ENOTSUP;
		o->digest = add_number(o->digest, f);
		o->digest = digest__add(o->digest, cd, ncd * sizeof(*cd));
	}
	return n < 0 ? -EBADMSG : 0;
}

/* The library decodes rows into the buffer. */
static int read_block(struct one *o, hsize_t at, hsize_t n)
{
	hid_t mem = H5Screate_simple(1, &n, NULL);
	int err = 0;

	if (mem < 0 || H5Sselect_hyperslab(o->space, H5S_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
	    H5Dread(o->dset, o->type, mem, o->space, H5P_DEFAULT, o->d->buf) < 0)
		err = -EBADMSG;
	if (mem >= 0)
		H5Sclose(mem);
	return err;
}

/* Whether the library can decode what we do not, a chunk at a time. */
static int try_rows(struct one *o, hsize_t chunk_rows)
{
	int err = room__make(&o->d->buf, &o->d->room, chunk_rows * o->row_bytes, 1);

	for (hsize_t at = 0; !err && at < o->rows; at += chunk_rows)
		err = read_block(o, at, o->rows - at < chunk_rows ? o->rows - at : chunk_rows);
	return err;
}

/* Whether the file's bytes could be so many rows. */
static bool may_be_stored(const struct one *o)
{
	return o->rows * (unsigned __int128)o->row_bytes <=
	       o->file_size * (unsigned __int128)DEFLATE_RATIO;
}

static int add_chunks(struct one *o)
{
	hsize_t chunk_rows = 0, absent = 0;
	int err;

	o->digest = add_number(o->digest, o->max_rows);
	if (H5Pget_chunk(o->dcpl, 1, &chunk_rows) != 1 || !chunk_rows)
		return -EBADMSG;
	if (chunk_rows > CHUNK_MAX / o->row_bytes)
		return -EMSGSIZE;
	o->digest = add_number(o->digest, chunk_rows);
	err = add_filters(o);
	if (!err && o->decode) {
		err = chunks__shape(o->dcpl, o->row_bytes, &o->shape);
		if (err == -ENOTSUP) {
			o->decode = false;
			err = h5__filters(o->dcpl);
			if (!err)
				err = try_rows(o, chunk_rows);
		}
	}
	/* Only the last chunk, where it is not full, or the only one may be absent: the rows of
	 * others would read as zeros that nobody has measured. */
	for (hsize_t at = 0; !err && at < o->rows && absent <= 1; at += chunk_rows) {
		uint64_t before = o->chunks;

		err = add_chunk(o, at);
		absent += o->chunks == before;
	}
	if (!err && absent && o->rows > chunk_rows && (absent > 1 || !(o->rows % chunk_rows)))
		err = may_be_stored(o) ? -ENODATA : -EMSGSIZE;
	return err;
}

static void add_bytes(struct one *o, const uint8_t *p, size_t n)
{
	uint8_t *piece = o->d->piece;

	while (n) {
		size_t room = PIECE_BYTES - o->filled, part = n < room ? n : room;

		memcpy(piece + o->filled, p, part);
		o->filled += part;
		p += part;
		n -= part;
		if (o->filled == PIECE_BYTES) {
			o->digest = digest__add(o->digest, piece, PIECE_BYTES);
			o->filled = 0;
		}
	}
}

static void end_bytes(struct one *o)
{
	o->digest = digest__add(o->digest, o->d->piece, o->filled);
	o->filled = 0;
}

/* Digests chunks that hold rows without filters. */
static int add_plain_chunks(struct one *o, const struct chunk_shape *s)
{
	const void *rows;
	int err = 0;

	for (hsize_t at = 0; !err && at < o->rows; at += s->rows) {
		hsize_t n = o->rows - at < s->rows ? o->rows - at : s->rows;

		err = chunks__read(o->d->chunks, o->dset, s, at, &rows);
		if (!err)
			add_bytes(o, rows, n * o->row_bytes);
		o->chunks += !err;
	}
	end_bytes(o);
	return err;
}

static bool is_plain(const struct one *o, struct chunk_shape *s)
{
	return !chunks__shape(o->dcpl, o->row_bytes, s) && s->plain &&
	       o->rows <= o->file_size / o->row_bytes;
}

static int add_chunked(struct one *o)
{
	const uint64_t before = o->digest;
	struct chunk_shape s;
	int err = -ENODATA;

	if (is_plain(o, &s))
		err = add_plain_chunks(o, &s);
	if (err != -ENODATA)
		return err;
	/* Where one was never written, it is to be missing in a copy as well. */
	o->digest = before;
	o->chunks = 0;
	return add_chunks(o);
}

static int add_block(struct one *o, hsize_t at, hsize_t n)
{
	int err = read_block(o, at, n);

	if (!err)
		add_bytes(o, o->d->buf, n * o->row_bytes);
	return err;
}

/* Digests the rows of a table that is not chunked. */
static int add_rows(struct one *o)
{
	hsize_t step = BLOCK_BYTES / o->row_bytes + 1;
	int err = 0;

	if (o->rows > o->file_size / o->row_bytes)
		return -EMSGSIZE;
	if (room__make(&o->d->buf, &o->d->room, step * o->row_bytes, 1))
		return -ENOMEM;
	for (hsize_t at = 0; !err && at < o->rows; at += step)
		err = add_block(o, at, o->rows - at < step ? o->rows - at : step);
	end_bytes(o);
	return err;
}

/* Rows that were never written have this value; the default one is all zeros. */
static int add_fill(struct one *o)
{
	H5D_fill_value_t fill;

	if (H5Pfill_value_defined(o->dcpl, &fill) < 0)
		return -EBADMSG;
	if (fill != H5D_FILL_VALUE_USER_DEFINED)
		return 0;
	if (room__make(&o->d->buf, &o->d->room, o->row_bytes, 1))
		return -ENOMEM;
	memset(o->d->buf, 0, o->row_bytes);
	if (H5Pget_fill_value(o->dcpl, o->type, o->d->buf) < 0)
		return -EBADMSG;
	o->digest = digest__add(o->digest, o->d->buf, o->row_bytes);
	return 0;
}

static int add_table(struct one *o)
{
	H5D_layout_t layout;
	int err;

	if (H5Sget_simple_extent_ndims(o->space) != 1 || H5Tget_class(o->type) != H5T_COMPOUND)
		return -ENOTSUP;
	if (H5Sget_simple_extent_dims(o->space, &o->rows, &o->max_rows) != 1)
		return -EBADMSG;
	o->row_bytes = H5Tget_size(o->type);
	if (!o->row_bytes || o->row_bytes > BLOCK_BYTES)
		return -ENOTSUP;
	err = type_cache__digest(o->d->types, o->type, &o->digest);
	if (err)
		return err;
	err = add_fill(o);
	if (err)
		return err;
	layout = H5Pget_layout(o->dcpl);
	if (H5Pget_external_count(o->dcpl) != 0 || layout == H5D_VIRTUAL || layout < 0)
		return -ENOTSUP;
	o->digest = add_number(o->digest, o->rows);
	return layout == H5D_CHUNKED ? add_chunked(o) : add_rows(o);
}

hid_t digester__open_table(struct digester *d, hid_t at, const char *name)
{
	return H5Dopen2(at, name, d->dapl);
}

int digester__table(struct digester *d, hid_t dset, uint64_t file_size, struct digest_table *out)
{
	struct one o = {
		.d = d, .dset = dset, .file_size = file_size, .digest = 1, .decode = d->decode};
	int err;

	o.type = H5Dget_type(o.dset);
	o.space = H5Dget_space(o.dset);
	o.dcpl = H5Dget_create_plist(o.dset);
	err = o.type < 0 || o.space < 0 || o.dcpl < 0 ? -EBADMSG : add_table(&o);
	if (o.dcpl >= 0)
		H5Pclose(o.dcpl);
	if (o.space >= 0)
		H5Sclose(o.space);
	if (o.type >= 0)
		H5Tclose(o.type);
	*out = (struct digest_table){o.digest, o.rows, o.chunks};
	return err;
}

static int add_strings(struct digester *d, hid_t attr, hid_t type, hid_t space, size_t n,
		       uint64_t *digest)
{
	char **text = (char **)d->buf;

	memset(d->buf, 0, n * sizeof(*text));
	if (H5Aread(attr, type, d->buf) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		*digest = digest__text(*digest, text[i] ? text[i] : "");
	H5Dvlen_reclaim(type, space, H5P_DEFAULT, d->buf);
	return 0;
}

/* One value is not an array of one. */
static uint64_t add_shape(hid_t space, uint64_t digest)
{
	hsize_t dims[H5S_MAX_RANK] = {0};
	int rank = H5Sget_simple_extent_dims(space, dims, NULL);

	return digest__add(add_number(digest, H5Sget_simple_extent_type(space)), dims,
			   rank > 0 ? rank * sizeof(*dims) : 0);
}

static int add_attr(struct digester *d, hid_t attr, hid_t type, hid_t space, uint64_t *digest)
{
	hssize_t n = H5Sget_simple_extent_npoints(space);
	bool variable = H5Tis_variable_str(type) > 0;
	size_t size = H5Tget_size(type);
	int err = variable ? 0 : type__digest(type, digest);

	*digest = add_shape(space, *digest);
	if (variable)
		*digest = add_number(*digest, H5Tget_cset(type));
	if (err)
		return err;
	if (n < 0 || !size)
		return -EBADMSG;
	if ((uint64_t)n > ATTR_BYTES / size)
		return -EMSGSIZE;
	*digest = add_number(add_number(*digest, n), size);
	if (room__make(&d->buf, &d->room, n * size + 1, 1))
		return -ENOMEM;
	if (variable)
		return add_strings(d, attr, type, space, n, digest);
	if (n && H5Aread(attr, type, d->buf) < 0)
		return -EBADMSG;
	*digest = digest__add(*digest, d->buf, n * size);
	return 0;
}

int digester__attr(struct digester *d, hid_t attr, uint64_t *digest)
{
	hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
	int err = type < 0 || space < 0 ? -EBADMSG : add_attr(d, attr, type, space, digest);

	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	return err;
}
