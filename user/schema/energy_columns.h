/* SPDX-License-Identifier: GPL-2.0-only */
/* What the columns of Energy hold. */
#ifndef JP_SCHEMA_ENERGY_COLUMNS_H
#define JP_SCHEMA_ENERGY_COLUMNS_H

enum energy_column {
	NODE_POWER, /* W; all others J in the interval */
	NODE_ENERGY,
	NODE_PKG,
	NODE_DRAM,
	NODE_GPU,
	STEP_TOTAL,
	STEP_FIXED,
	STEP_DYNAMIC,
	STEP_LOW,
	STEP_HIGH,
	NODE_OTHERS,
	NODE_SYSTEM,
	NODE_UNALLOCATED,
	ENERGY_COLUMNS
};

#endif
