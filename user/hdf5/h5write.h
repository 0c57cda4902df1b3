/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a new file is written that nobody reads before it is complete: a driver for the library that
 * puts rows together. The library writes each chunk by itself, and a node of Slurm's has sixty:
 * writing them one by one takes a sixth of the time of a merge.
 */
#ifndef JP_HDF5_H5WRITE_H
#define JP_HDF5_H5WRITE_H

#include <hdf5.h>

/* For a file that is created with fapl. What cannot be written (no room) is an error of a later
 * call, of H5Fflush() or H5Fclose(). Where the library does not take the driver, its own stays. */
void h5write__set_driver(hid_t fapl);

#endif
