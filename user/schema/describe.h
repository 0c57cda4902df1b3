/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of a column of a file by the names of its series and its own. */
#ifndef JP_SCHEMA_DESCRIBE_H
#define JP_SCHEMA_DESCRIBE_H

#include "schema/series.h"

/* The built-in series, those of Slurm's gatherers, and the time columns of any series. NULL: the
 * schema does not know it. */
const struct column *describe__column(const char *series, const char *column);

#endif
