// SPDX-License-Identifier: GPL-2.0-or-later
/* Units and kinds of the columns of Slurm's gatherers, from schemas/. */
#include "slurm/profile_columns.h"

#include <stdio.h>

#include "schema/describe.h"

void profile_column__describe(const char *series, struct jpc_column *c)
{
	/* The protocol has no time columns. */
	static const uint8_t kinds[] = {
		[COL_TIME] = JPC_GAUGE,
		[COL_GAUGE] = JPC_GAUGE,
		[COL_DELTA] = JPC_DELTA,
		[COL_CUMULATIVE] = JPC_CUMULATIVE,
	};
	const struct column known = column__describe(series, c->name, NULL);

	snprintf(c->unit, sizeof(c->unit), "%s", known.unit);
	c->kind = kinds[known.kind];
}
