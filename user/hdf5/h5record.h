/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was written of a file, by blocks, and of rows as they passed: whether it reads back as that,
 * and whether a copy's rows are those of the original, is known without having the library take the
 * file apart again, which takes as long as half of the copying.
 */
#ifndef JP_HDF5_H5RECORD_H
#define JP_HDF5_H5RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H5RECORD_BLOCK (64u << 10)

struct h5record {
	uint64_t *sums; /* of each block, with zeros behind the end; 0: it was not written */
	size_t n, room;
	uint64_t bytes; /* of the file */
	uint64_t rows;	/* digest of the rows' bytes, in the order of writing; set it as you like */
	bool complete;	/* the file is closed, and all of it is in here */
	bool lost;	/* there was no memory */
};

/* The digest of rows with some more of their bytes, as a driver is told to read or write them.
 * Heaps that texts of any length are in, which are told as rows too, do not count: the library
 * reads and writes them when its cache is in need of it. */
uint64_t h5record__add_rows(uint64_t rows, const void *bytes, size_t n);

/* H5RECORD_BLOCK bytes as they are in the file now. */
void h5record__put(struct h5record *r, uint64_t block, const uint8_t *bytes);
/* Whether these are what the block holds by this record. */
bool h5record__has(const struct h5record *r, uint64_t block, const uint8_t *bytes);
/* The file ends there, now or for good. */
void h5record__cut(struct h5record *r, uint64_t bytes);
void h5record__end(struct h5record *r, uint64_t bytes);
void h5record__free(struct h5record *r);

/* Reads share i of n of the file: 0; -EIO: it is not what was written; -errno of reading. */
int h5record__check(const struct h5record *r, int fd, unsigned i, unsigned n);

#endif
