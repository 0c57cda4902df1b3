/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Digests of the types of tables and attributes, which are the same in every version of the format.
 */
#ifndef JP_HDF5_DIGEST_TYPE_H
#define JP_HDF5_DIGEST_TYPE_H

#include <hdf5.h>
#include <stdint.h>

/* Adds a type to a digest. 0; -ENOTSUP: it has parts outside the row, or refers to objects;
 * -EBADMSG; -ENOMEM. */
int type__digest(hid_t type, uint64_t *digest);

/* To look at every member of a wide row takes longer than to read the table, so types that were
 * seen before are recognised by their encoding. */
struct type_cache;

struct type_cache *type_cache__new(void);
void type_cache__free(struct type_cache *c);
int type_cache__digest(struct type_cache *c, hid_t type, uint64_t *digest);

#endif
