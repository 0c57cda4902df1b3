/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads chunks of a table as they are stored, and decodes them here: shuffle and deflate are nearly
 * all of the time for reading a table, and libdeflate takes half of zlib's.
 */
#ifndef JP_HDF5_CURSOR_CHUNK_H
#define JP_HDF5_CURSOR_CHUNK_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunks;
struct h5chunk;

struct chunk_shape {
	unsigned rows; /* of a chunk */
	size_t row_bytes;
	unsigned nfilters; /* in the order they were applied when writing */
	H5Z_filter_t filters[2];
	bool plain; /* the filters change nothing: Slurm deflates with level 0 */
};

/* The state of decoding, for any number of tables. NULL: no memory. */
struct chunks *chunks__new(void);
void chunks__free(struct chunks *c);

/* Reads a dataset's layout: 0 if its chunks can be decoded here, -ENOTSUP if
 * the library must do it, -EMSGSIZE for chunks beyond all measure. */
int chunks__shape(hid_t dcpl, size_t row_bytes, struct chunk_shape *s);
/* Reads and decodes the chunk that begins at row `at`: s->rows rows, valid until the next call.
 * -ENODATA: it was never written, or cannot be found; -EBADMSG: damaged; -ENOMEM. */
int chunks__read(struct chunks *c, hid_t dset, const struct chunk_shape *s, hsize_t at,
		 const void **rows);

/* Whether a chunk that was read as it is stored can be decoded to its rows. 0; -EBADMSG: it cannot,
 * or not to the number that was written (zlib's checksum); -ENOMEM. */
int chunks__check(struct chunks *c, const struct chunk_shape *s, const struct h5chunk *stored);

#endif
