/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writer and the reader of HDF5 files share. */
#ifndef JP_HDF5_H5UTIL_H
#define JP_HDF5_H5UTIL_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/series.h"

/* Silences libhdf5's own printing; the system error behind a failure is remembered instead. */
void h5__init(void);
/* -errno of the last HDF5 call that failed, -EIO where the library names none. */
int h5__error(void);
/* Whether the library names an errno for that call. */
bool h5__of_system(void);
/* True for what can be one component of an HDF5 path. */
bool h5__name_ok(const char *name);
/* A compound of 8-byte cells, in order, without padding: a member for each column, or for the
 * columns that are one array, of the first one's type and with its name but for the last
 * character. Arrays must be within ncols. < 0 on failure. */
hid_t h5__row_type(const struct column *cols, unsigned ncols, bool in_file);
/* For a process that opens many files: freed memory is kept for the next one, some 32 MiB. */
void h5__keep_memory(void);
/* Bounds the metadata that is held of a file: decoded, it takes some twenty times its size. */
void h5__small_cache(hid_t fapl);
/* Adds a text as attribute: a scalar of any length, which h5py takes as a str. 0 or -errno. */
int h5__put_text(hid_t at, const char *name, const char *text);
/* The one text of an attribute, of fixed length or any, up to max bytes of it: the caller's to
 * free. 0; -EBADMSG: it is none, or longer; -ENOMEM. */
int h5__get_text(hid_t attr, hid_t type, size_t max, char **out);
/* What tables say of their columns is stored once in the new file, not once per table. 0 or -errno.
 */
int h5__share_texts(hid_t fcpl);
/* Keeps all attributes of an object that is made with these properties in its header. HDF5 1.10
 * ends by SIGSEGV when it copies an object whose attributes are indexed and some are texts of any
 * length, and the stock `sh5util` merges with its copy. */
herr_t h5__plain_attrs(hid_t ocpl);
/* A group whose links stay in its header up to 64, and its attributes all; < 0 on failure. */
hid_t h5__create_group(hid_t at, const char *name);
/* One that may have any number of links. */
hid_t h5__create_list(hid_t at, const char *name);
/* Whether the library here has what the chunks of a table were packed with, by the table's
 * properties: 0, or an error below 0 that reader__strerror() names the filter of. */
int h5__filters(hid_t dcpl);
/* "lzf" of such an error; NULL: it is another error. */
const char *h5__missing_filter(int err);
/* True when NAME is in the comma list (spaces around items do not matter). */
bool h5__in_list(const char *list, const char *name);

#endif
