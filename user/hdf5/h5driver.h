/* SPDX-License-Identifier: GPL-2.0-only */
/* What our file drivers for the library share. */
#ifndef JP_HDF5_H5DRIVER_H
#define JP_HDF5_H5DRIVER_H

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H5DRIVER_LIMIT ((haddr_t)INT64_MAX)

/* Registers the driver at first: *id begins as H5I_INVALID_HID. info: of driver->fapl_size bytes,
 * or NULL. Where the library does not take it, its own stays. */
void h5driver__set(hid_t fapl, const H5FD_class_t *driver, hid_t *id, const void *info);
/* What failed, with errno, in the words of the library's own drivers: h5__error() looks for it. */
void h5driver__say(hid_t error, const char *what);
/* The bytes are within what the file has addresses for. */
bool h5driver__inside(haddr_t eoa, haddr_t addr, size_t size);

#endif
