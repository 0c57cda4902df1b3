/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How files of others are read: a driver for the library, and chunks as they are stored. The
 * library asks for a few bytes at a time, and its own driver makes a system call for each request,
 * some seventy for a table of Slurm's. This driver reads blocks, and caches the last few.
 */
#ifndef JP_HDF5_H5FILE_H
#define JP_HDF5_H5FILE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Sets the driver for files that are opened with fapl. It opens files to read by foreign__open()
 * (base/foreign.h); to write or create, only the path /proc/self/fd/N is allowed, a file that is
 * already open for that. Where the library refuses the driver, its own is used. */
void h5file__set_driver(hid_t fapl);
/* The access properties for writing a job file that gets its name when it is complete. The caller
 * closes them. */
hid_t h5file__write_access(void);

/* The bytes of a chunk as they are stored. */
struct h5chunk {
	uint8_t *bytes;
	size_t room;
	size_t size;
	uint32_t mask; /* bit i: filter i was left out */
};

/*
 * Reads the chunk that begins at row `at` of a dataset of rank 1; *c must be zeroed before the
 * first call and may be used for any number of chunks; the caller frees its bytes. A chunk of more
 * than max bytes is not read. 0; -ENODATA: it was never written, or cannot be found; -EBADMSG:
 * damaged; -ENOMEM.
 */
int h5chunk__read(struct h5chunk *c, hid_t dset, hsize_t at, size_t max);

#endif
