/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units and kinds of the columns of Slurm's gatherers, which declare names and types only. */
#ifndef JP_SLURM_PROFILE_COLUMNS_H
#define JP_SLURM_PROFILE_COLUMNS_H

#include "client/protocol.h"

/* Sets unit and kind of c by its name and the series it belongs to ("Tasks", "Energy" ...). A
 * column that is not in schemas/ is a gauge without a unit. */
void profile_column__describe(const char *series, struct jpc_column *c);

#endif
