/* SPDX-License-Identifier: GPL-2.0-only */
/* What the columns of tables made by others are: levels, amounts per interval, counters. */
#ifndef JP_JOBFILE_KINDS_H
#define JP_JOBFILE_KINDS_H

#include "hdf5/cursor.h"
#include "schema/series.h"

/* Of all columns of the table that the cursor stands at: as schemas/ have it, of the built-in
 * series and of Slurm's Energy, Filesystem and Network, else as the table's attributes say. A
 * column nobody knows counts as one per interval: its sum is worth having more often than not. 0 or
 * -ENOMEM. */
int kinds__read(const struct cursor *c, const char *series, enum col_kind *kinds);

#endif
