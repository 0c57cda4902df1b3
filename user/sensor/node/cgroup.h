/* SPDX-License-Identifier: GPL-2.0-only */
/* A step's cgroup files, wherever its controllers are mounted. */
#ifndef JP_SENSOR_NODE_CGROUP_H
#define JP_SENSOR_NODE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "sensor/node/cgroup_value.h"
#include "sensor/node/levels.h"

/* "max" and v1's page-aligned LONG_MAX both mean: no limit. */
#define CGROUP_NO_LIMIT 9.0e18

/* The step's directories: NULL where there is none. */
struct cgroup_dirs {
	const char *v2;	       /* unified hierarchy */
	const char *v1_memory; /* its directory in the memory controller */
	const char *v1_cpu;
	const char *v2_mount; /* where the walk for limits ends */
	const char *v1_mount; /* above the controllers' */
};

/*
 * The files of one step, which stay open: to look up a path costs more than to read the file. Files
 * and limits are looked for again five times a second at the beginning, and every ten seconds
 * later, since controllers may be enabled, and limits set, after a step has begun.
 */
struct cgroup_files;

/* The values at which the counts of cgroups above the step began, for this step. */
struct cgroup_base {
	double throttled; /* NaN: not known yet */
	struct levels_base levels[LEVELS_KINDS];
};

/* base: NULL, or cgroup_files__base() of the same step before. NULL: out of memory. */
struct cgroup_files *cgroup_files__new(const struct cgroup_base *base);
void cgroup_files__base(const struct cgroup_files *f, struct cgroup_base *base); /* f may be NULL */
void cgroup_files__free(struct cgroup_files *f);
/* Whether cgroup_files__rescan() is due at this instant of CLOCK_BOOTTIME. */
bool cgroup_files__stale(const struct cgroup_files *f, uint64_t now_ns);
/* Opens the files that are not open yet, and reads the limits. d need not live longer. */
void cgroup_files__rescan(struct cgroup_files *f, const struct cgroup_dirs *d, uint64_t now_ns);
/* Reads every value into v[CG_N]; NaN where a file is missing, unreadable or holds no number, or
 * its cgroup has gone. */
void cgroup_files__read(struct cgroup_files *f, double v[CG_N]);

#endif
