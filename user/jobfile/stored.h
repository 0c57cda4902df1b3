/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads results that jobfile/store.h has put into a job file. */
#ifndef JP_JOBFILE_STORED_H
#define JP_JOBFILE_STORED_H

#include <jansson.h>

#include "hdf5/reader.h"

/*
 * Reads the group or table /analysis/NAME of an open file. A group becomes an object: from its
 * attributes come numbers and texts, from its groups objects, from its tables arrays of objects
 * with a number or text per column; NaN becomes null. Tables named `but`, and what is of another
 * shape, are left out. Other programs may have written it, so this is called in a limited child
 * (pool/pool.h). NULL: there is none, or it is damaged.
 */
json_t *stored__read(const struct reader *r, const char *name, const char *but);

/* The text /analysis/NAME, of a length that was given when it was written, and of at most so many
 * bytes; the caller frees it. The same. */
char *stored__text(const struct reader *r, const char *name, size_t most);

/* The text /analysis/page, of at most so many bytes, which the caller frees; *by: the attributes
 * that it was stored with. The same. */
char *stored__page(const struct reader *r, size_t most, json_t **by);

#endif
