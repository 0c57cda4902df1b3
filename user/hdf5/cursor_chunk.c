/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one chunk of a table and undoes its filters. */
#include "hdf5/cursor_chunk.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "hdf5/h5file.h"

#define CHUNK_BYTES_MAX (64u << 20)

struct chunks {
	struct libdeflate_decompressor *inflate;
	struct h5chunk stored;
	uint8_t *buf[2];
	size_t size[2];
};

struct chunks *chunks__new(void)
{
	struct chunks *c = calloc(1, sizeof(*c));

	if (c)
		c->inflate = libdeflate_alloc_decompressor();
	if (c && c->inflate)
		return c;
	free(c);
	return NULL;
}

void chunks__free(struct chunks *c)
{
	if (!c)
		return;
	libdeflate_free_decompressor(c->inflate);
	free(c->stored.bytes);
	free(c->buf[0]);
	free(c->buf[1]);
	free(c);
}

static int read_filters(hid_t dcpl, struct chunk_shape *s)
{
	int n = H5Pget_nfilters(dcpl);

	if (n < 0 || n > 2)
		return -ENOTSUP;
	s->nfilters = n;
	s->plain = n < 2;
	for (int i = 0; i < n; i++) {
		unsigned flags, cd[8];
		size_t ncd = 8;

		s->filters[i] = H5Pget_filter2(dcpl, i, &flags, &ncd, cd, 0, NULL, NULL);
		s->plain &= s->filters[i] == H5Z_FILTER_DEFLATE && ncd && !cd[0];
		if (s->filters[i] == H5Z_FILTER_SHUFFLE) {
			/* The filter shuffles elements of this size, which a damaged file may have
			 * wrong.
			 */
			if (i || !ncd || cd[0] != s->row_bytes)
				return -ENOTSUP;
		} else if (s->filters[i] != H5Z_FILTER_DEFLATE || i + 1 < n) {
			return -ENOTSUP;
		}
	}
	return 0;
}

int chunks__shape(hid_t dcpl, size_t row_bytes, struct chunk_shape *s)
{
	hsize_t rows;

	*s = (struct chunk_shape){.row_bytes = row_bytes};
	if (H5Pget_layout(dcpl) != H5D_CHUNKED)
		return -ENOTSUP;
	if (H5Pget_chunk(dcpl, 1, &rows) != 1 || !rows)
		return -EBADMSG;
	if (rows > CHUNK_BYTES_MAX / row_bytes)
		return -EMSGSIZE;
	s->rows = rows;
	return read_filters(dcpl, s);
}

#define BLOCK 16 /* rows at a time */
typedef uint8_t block_bytes __attribute__((vector_size(BLOCK)));

/* The bytes of a and b by turns: the first halves of both, and the second halves. */
static block_bytes first_halves(block_bytes a, block_bytes b)
{
	return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
				       23);
}

static block_bytes second_halves(block_bytes a, block_bytes b)
{
	return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
				       15, 31);
}

/* v[k] has byte k of 16 rows; afterwards v[i] has the 8 bytes of row 2 i and those of the next. */
static void transpose(block_bytes v[8])
{
	for (int turn = 0; turn < 3; turn++) {
		block_bytes w[8];

		for (int i = 0; i < 4; i++) {
			w[2 * i] = first_halves(v[i], v[i + 4]);
			w[2 * i + 1] = second_halves(v[i], v[i + 4]);
		}
		memcpy(v, w, sizeof(w));
	}
}

/* Byte k of every row lies together in the file; 8 of the bytes of 16 rows are moved at a time. */
static void unshuffle(const uint8_t *in, uint8_t *out, unsigned rows, size_t row_bytes)
{
	unsigned blocks = rows - rows % BLOCK;
	size_t words = row_bytes - row_bytes % 8;
	block_bytes v[8];

	for (unsigned r = 0; r < blocks; r += BLOCK)
		for (size_t k = 0; k < words; k += 8) {
			for (unsigned i = 0; i < 8; i++)
				memcpy(&v[i], in + (k + i) * rows + r, sizeof(v[i]));
			transpose(v);
			for (unsigned i = 0; i < BLOCK; i++)
				memcpy(out + (r + i) * row_bytes + k, (uint8_t *)v + 8 * i, 8);
		}
	for (size_t k = 0; k < row_bytes; k++)
		for (unsigned r = k < words ? blocks : 0; r < rows; r++)
			out[r * row_bytes + k] = in[k * rows + r];
}

/* Undoes the filters from the last to the first. */
static int decode(struct chunks *c, const struct chunk_shape *s, const void **rows)
{
	size_t bytes = s->rows * s->row_bytes, got = c->stored.size;
	const uint8_t *from = c->stored.bytes;
	unsigned at = 0;

	for (int i = (int)s->nfilters - 1; i >= 0; i--, at = !at) {
		if (c->stored.mask & (1u << i))
			continue;
		if (room__make(&c->buf[at], &c->size[at], bytes, 1))
			return -ENOMEM;
		if (s->filters[i] == H5Z_FILTER_DEFLATE) {
			if (libdeflate_zlib_decompress(c->inflate, from, got, c->buf[at], bytes,
						       &got))
				return -EBADMSG;
		} else if (got != bytes) {
			return -EBADMSG;
		} else {
			unshuffle(from, c->buf[at], s->rows, s->row_bytes);
		}
		from = c->buf[at];
	}
	*rows = from;
	return got == bytes ? 0 : -EBADMSG;
}

int chunks__check(struct chunks *c, const struct chunk_shape *s, const struct h5chunk *stored)
{
	const size_t bytes = s->rows * s->row_bytes;
	const unsigned last = s->nfilters - 1;
	size_t got = stored->size;

	/* Shuffling changes no size, and fails for no bytes. */
	if (s->nfilters && s->filters[last] == H5Z_FILTER_DEFLATE &&
	    !(stored->mask & (1u << last))) {
		if (room__make(&c->buf[0], &c->size[0], bytes, 1))
			return -ENOMEM;
		if (libdeflate_zlib_decompress(c->inflate, stored->bytes, stored->size, c->buf[0],
					       bytes, &got))
			return -EBADMSG;
	}
	return got == bytes ? 0 : -EBADMSG;
}

int chunks__read(struct chunks *c, hid_t dset, const struct chunk_shape *s, hsize_t at,
		 const void **rows)
{
	size_t bytes = s->rows * s->row_bytes;
	/* Deflate makes nothing much bigger. */
	int err = h5chunk__read(&c->stored, dset, at, bytes + bytes / 8 + 1024);

	return err ? err : decode(c, s, rows);
}
