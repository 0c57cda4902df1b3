/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A digest is one number for the contents of a table: its columns and rows or, where rows are
 * compressed, the bytes of its chunks as they are stored. A faithful copy in another file has the
 * same digest, wherever its bytes lie there, and where rows are not compressed also in another
 * layout.
 */
#ifndef JP_HDF5_DIGEST_H
#define JP_HDF5_DIGEST_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds n bytes to a digest; begin with any constant. */
uint64_t digest__add(uint64_t digest, const void *bytes, size_t n);
uint64_t digest__text(uint64_t digest, const char *text);

/* State that is used again for the next table. */
struct digester;

struct digest_table {
	uint64_t digest;
	uint64_t rows;
	uint64_t chunks;
};

/* 0 or -ENOMEM. */
int digester__new(struct digester **out);
void digester__free(struct digester *d);
/* Sets whether compressed chunks of the next tables are also decoded: a chunk that cannot be
 * decoded is damaged. The digest does not change. */
void digester__decode(struct digester *d, bool decode);

/* Opens a dataset in the way in which it is read best here; < 0 on failure. */
hid_t digester__open_table(struct digester *d, hid_t at, const char *name);

/*
 * Reads a dataset of rank 1 whose rows are compounds of numbers, fixed strings and the like, and
 * whose bytes are in this file of file_size bytes. 0; -EBADMSG: damaged; -ENOTSUP: no table of that
 * kind; -EMSGSIZE: it claims more rows than its bytes can hold; -ENODATA: some of its rows were
 * never written; -ENOMEM.
 */
int digester__table(struct digester *d, hid_t dset, uint64_t file_size, struct digest_table *out);
/* The digest of an attribute of numbers or strings, at most a MiB. Errors are those of
 * digester__table(). */
int digester__attr(struct digester *d, hid_t attr, uint64_t *digest);

#endif
