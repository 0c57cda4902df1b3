/* SPDX-License-Identifier: GPL-2.0-only */
/* What the columns of tables made by others are: levels, amounts per interval, counters. */
#ifndef JP_STORE_KINDS_H
#define JP_STORE_KINDS_H

#include "store/series.h"

/* As schemas/ have it, of the built-in series and of Slurm's Energy, Filesystem and Network.
 * A column nobody knows counts as one per interval: its sum is worth having more often than not. */
enum col_kind kinds__of(const char *series, const char *column);

#endif
