/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a large file is written that nobody reads before it is complete: a driver for the library
 * that keeps blocks, and writes them whole when their room is needed. The library writes each
 * header and each chunk by itself, which to its own driver is a system call: 66 for a node of
 * Slurm's.
 */
#ifndef JP_HDF5_H5OUT_H
#define JP_HDF5_H5OUT_H

#include <hdf5.h>

#include "hdf5/h5record.h"

/* For a file that is created with fapl. What cannot be written (no room) is an error of a later
 * call, or of H5Fclose() or H5Fflush(). Where the library does not take the driver, its own stays.
 * *record begins zeroed, is the caller's to free, and complete when the file is closed; or NULL. */
void h5out__set_driver(hid_t fapl, struct h5record *record);

#endif
