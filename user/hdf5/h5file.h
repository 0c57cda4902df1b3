/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How files are read that others wrote: a driver for the library, and chunks as they are stored.
 * The library asks for a few bytes at a time, which to its own driver is a system call each: a
 * table of Slurm's takes some seventy. This one reads blocks, and keeps the last few.
 */
#ifndef JP_HDF5_H5FILE_H
#define JP_HDF5_H5FILE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Sets the driver for files that are opened with fapl. It opens files to read by foreign__open()
 * (base/foreign.h); to write or create, it takes only /proc/self/fd/N, a file that is open for that
 * already. Where the library does not take the driver, its own stays. */
void h5file__set_driver(hid_t fapl);
/* How a job file is written that is given its name when it is whole; to be closed. */
hid_t h5file__write_access(void);

/* The bytes of a chunk as they are stored. */
struct h5chunk {
	uint8_t *bytes;
	size_t room;
	size_t size;
	uint32_t mask; /* bit i: filter i was left out */
};

/*
 * Reads the chunk that begins at row `at` of a dataset of rank 1; *c begins zeroed, serves any
 * number of chunks, and its bytes are the caller's to free. One of more than max bytes is not read.
 * 0; -ENODATA: it was never written, or cannot be found; -EBADMSG: damaged; -ENOMEM.
 */
int h5chunk__read(struct h5chunk *c, hid_t dset, hsize_t at, size_t max);

#endif
