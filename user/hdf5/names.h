/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names in a group of an HDF5 file. */
#ifndef JP_HDF5_NAMES_H
#define JP_HDF5_NAMES_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/string_list.h"

/*
 * Lists the hard links of a group that lead to objects of that type (H5O_TYPE_UNKNOWN: of any type,
 * which is not looked up), in natural order, numbers first. Names that are longer than a file's
 * name may be, or that cannot be part of a path, are left out. 0; -EBADMSG: damaged; -EMSGSIZE:
 * more links than are followed; -ENOMEM. *out is empty after an error.
 */
int names__children(hid_t group, H5O_type_t type, struct string_list *out);
/* Whether a list has the name; the list is in the order that names__children() gives it. */
bool names__has(const struct string_list *l, const char *name);

#endif
