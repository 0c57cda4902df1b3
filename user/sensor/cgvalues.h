/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_SENSOR_CGVALUES_H
#define JP_SENSOR_CGVALUES_H

/* What a step's cgroup says of itself; NaN where it does not. Bytes and seconds. */
enum cg_value {
	CG_MEM,
	CG_MEM_PEAK,
	CG_MEM_LIMIT,
	CG_THROTTLED,
	CG_PSI_CPU,
	CG_PSI_MEM,
	CG_PSI_IO,
	CG_N
};

#endif
