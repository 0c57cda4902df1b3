// SPDX-License-Identifier: GPL-2.0-only
#include "slurm/profile_columns.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* The schemas' words are the protocol's, which has no time columns. */
#define JPC_TIME JPC_GAUGE
static const struct {
	const char *series, *name, *unit;
	uint8_t kind;
} columns[] = {
#define COL(name_, type, unit_, kind_, ...) {"Tasks", #name_, unit_, JPC_##kind_},
#include "schemas/tasks.def"
#undef COL
#define COL(name_, type, unit_, kind_, ...) {"Energy", #name_, unit_, JPC_##kind_},
#include "schemas/energy.def"
#undef COL
#define COL(name_, type, unit_, kind_, ...) {"Network", #name_, unit_, JPC_##kind_},
#include "schemas/network.def"
#undef COL
#define COL(name_, type, unit_, kind_, ...) {"Filesystem", #name_, unit_, JPC_##kind_},
#include "schemas/filesystem.def"
#undef COL
#define SLURM_COL(series_, name_, type, unit_, kind_, ...) {series_, name_, unit_, JPC_##kind_},
#include "schemas/slurm.def"
#undef SLURM_COL
};

void profile_column__describe(const char *series, struct jpc_column *c)
{
	c->unit[0] = '\0';
	c->kind = JPC_GAUGE;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (strcmp(columns[i].series, series) != 0 || !str__glob1(columns[i].name, c->name))
			continue;
		snprintf(c->unit, sizeof(c->unit), "%s", columns[i].unit);
		c->kind = columns[i].kind;
		return;
	}
}
