/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writer and the reader of HDF5 files share. */
#ifndef JP_HDF5_H5UTIL_H
#define JP_HDF5_H5UTIL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/series.h"

/* Keeps libhdf5 from printing errors; the system error behind a failure is stored instead. */
void h5__init(void);
/* -errno of the last HDF5 call that failed, -EIO where the library names none. */
int h5__error(void);
/* Whether the library gave an errno for that call. */
bool h5__of_system(void);
/* Whether a name can be one component of an HDF5 path. */
bool h5__name_ok(const char *name);
/* A compound type of 8-byte cells, in order, without padding. Each column is a member; columns that
 * are one array are one member, with the type of the first one and its name without the last
 * character. Arrays must be within ncols. < 0 on failure. */
hid_t h5__row_type(const struct column *cols, unsigned ncols, bool in_file);
/* For a process that opens many files: the library keeps some 32 MiB of freed memory for the next
 * one. */
void h5__keep_memory(void);
/* Bounds the cached metadata of a file: decoded metadata is some twenty times as large. */
void h5__small_cache(hid_t fapl);
/* Adds a text as attribute: a scalar of any length, which h5py takes as a str. 0 or -errno. */
int h5__put_text(hid_t at, const char *name, const char *text);
/* Reads the single text of an attribute, of fixed or variable length, with at most max bytes; the
 * caller frees it. 0; -EBADMSG: it is no such text, or longer; -ENOMEM. */
int h5__get_text(hid_t attr, hid_t type, size_t max, char **out);
/* Makes a new file store the type of rows only once that several tables have. 0 or -errno. */
int h5__share_types(hid_t fcpl);
/* Makes objects with these properties store all attributes in their header. HDF5 1.10
 * ends by SIGSEGV when it copies an object whose attributes are indexed and some are texts of any
 * length, and the stock `sh5util` merges with its copy. */
herr_t h5__plain_attrs(hid_t ocpl);
/* Makes a group whose header stores up to 64 links, and all attributes; < 0 on failure. */
hid_t h5__create_group(hid_t at, const char *name);
/* Makes a group that may have any number of links. */
hid_t h5__create_list(hid_t at, const char *name);
/* Whether this library has the filters of a table's chunks, by the table's properties: 0, or an
 * error below 0 for which reader__strerror() names the filter. */
int h5__filters(hid_t dcpl);
/* "lzf" of such an error; NULL: it is another error. */
const char *h5__missing_filter(int err);
/* True when NAME is in the comma list (spaces around items do not matter). */
bool h5__in_list(const char *list, const char *name);

#endif
