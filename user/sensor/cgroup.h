/* SPDX-License-Identifier: GPL-2.0-only */
/* A step's cgroup files, wherever its controllers are mounted. */
#ifndef JP_SENSOR_CGROUP_H
#define JP_SENSOR_CGROUP_H

#include "sensor/cgvalues.h"

/* The step's directories: NULL where there is none. */
struct cg_dirs {
	const char *v2;	       /* unified hierarchy */
	const char *v1_memory; /* its directory in the memory controller */
	const char *v1_cpu;
	const char *v2_mount; /* where the walk for limits ends */
	const char *v1_mount;
};

/* Reads every value into v[CG_N]; NaN where a file is missing, unreadable or holds no number. */
void cgroup__read(const struct cg_dirs *d, double v[CG_N]);

#endif
