/* SPDX-License-Identifier: GPL-2.0-only */
/* What the columns of tables made by others are: levels, amounts per interval, counters. */
#ifndef JP_STORE_KINDS_H
#define JP_STORE_KINDS_H

#include "store/series.h"

/* Of the built-in series by schemas/, of Slurm's Energy, Filesystem and Network by their manual.
 * A column nobody knows counts as one per interval: its sum is worth having more often than not. */
enum col_kind kinds__of(const char *series, const char *column);

#endif
