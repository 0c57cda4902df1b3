/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damages HDF5 files where it hurts: in the structures, not in the rows. */
#ifndef JP_TESTS_FUZZ_H5MUTATE_H
#define JP_TESTS_FUZZ_H5MUTATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Changes one to four fields of superblock, object headers and their messages, B-trees, symbol
 * tables and heaps, or cuts the file; then makes the checksums of what has one right again, since
 * the library looks no further where they are wrong. The same seed does the same. Returns the new
 * length, which is never more than len.
 */
size_t h5mutate(uint8_t *file, size_t len, uint32_t seed);

/* Makes checksums right and nothing else. */
void h5mutate__checksums(uint8_t *file, size_t len);

#endif
