/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of texts and numbers in an HDF5 file. */
#ifndef JP_JOBFILE_STORE_TABLE_H
#define JP_JOBFILE_STORE_TABLE_H

#include <hdf5.h>

#include "jobfile/store.h"

/* Makes the table, whose rows have texts of one length, as long as the longest: all readers take
 * these. < 0 on failure. */
hid_t store_table__create(hid_t at, const struct store_table *t);

#endif
