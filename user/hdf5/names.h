/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a group of an HDF5 file holds, by name. */
#ifndef JP_HDF5_NAMES_H
#define JP_HDF5_NAMES_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/string_list.h"

/*
 * The hard links of a group that lead to objects of that type (H5O_TYPE_UNKNOWN: of any, without
 * looking), in natural order, numbers first; none whose name is longer than a file's may be, or
 * cannot be part of a path. 0; -EBADMSG: damaged; -EMSGSIZE: more links of any kind than we follow;
 * -ENOMEM.
 * *out is empty after an error.
 */
int names__children(hid_t group, H5O_type_t type, struct string_list *out);
/* Whether a list has the name; the list is in the order that names__children() gives it. */
bool names__has(const struct string_list *l, const char *name);

#endif
