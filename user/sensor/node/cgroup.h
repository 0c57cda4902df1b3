/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup files of a step, wherever the controllers are mounted. */
#ifndef JP_SENSOR_NODE_CGROUP_H
#define JP_SENSOR_NODE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/quantities.h"

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
 * How often a limit was reached: the cgroup's own limit, and those of the cgroups above it, such as
 * the job's or Slurm's. The nearest cgroup that has the count is always read, cgroups above it only
 * if they have a limit. What a cgroup above had counted before its first reading is subtracted.
 */
#define LEVELS_MAX    16
#define LEVELS_COUNTS 2

enum levels_kind {
	LEVELS_QUOTA,  /* periods in which a CPU quota was used up */
	LEVELS_MEMORY, /* times that memory was at memory.high, and at memory.max */
	LEVELS_KINDS
};

/* What is subtracted, and for which levels; a restarted collector continues with it. All 0:
 * nothing.
 */
struct levels_base {
	double count[LEVELS_COUNTS];
	uint32_t taken; /* a bit per level, 0 is the cgroup itself */
};

struct levels {
	int fd[LEVELS_MAX];
	uint32_t open; /* a bit per level */
	const struct levels_way *way;
	struct levels_base base;
};

/* Opens the files that are not open yet, because limits may be set later. Returns how many files
 * were opened. */
unsigned levels__open(struct levels *l, enum levels_kind kind, const struct cgroup_dirs *d);
/* The counts of the kind; NaN: not known. */
void levels__read(const struct levels *l, double count[LEVELS_COUNTS]);
/* Returns how many files were closed. */
unsigned levels__close(struct levels *l);

/*
 * How long CPU quotas have throttled a cgroup, its own quota or one above it. From Linux 6.6 on the
 * kernel counts this itself (cpu.stat.local: 677ea015f231). Before, every cgroup with a quota only
 * counts how long the quota throttled anything below: these times are added from the cgroup up to
 * the root, which is too much where the quota throttled only other cgroups. What a cgroup above had
 * counted before its first reading is subtracted. Where several CPUs were throttled at once, each
 * counts.
 */
#define THROTTLED_LEVELS 16

struct throttled {
	int fd[THROTTLED_LEVELS];
	unsigned n; /* of fd; 0: nothing is open */
	const struct throttled_way *way;
	double base; /* s, subtracted; NaN: not known yet */
};

/* Opens the files that exist, unless some are open; a known base stays. Returns how many files were
 * opened. */
unsigned throttled__open(struct throttled *t, const struct cgroup_dirs *d);
/* Seconds, or NaN. */
double throttled__read(const struct throttled *t);
/* Returns how many files were closed. */
unsigned throttled__close(struct throttled *t);

/*
 * The files of one step, which stay open, because looking up a path costs more than reading the
 * file. Files and limits are searched again five times a second at the beginning, and every ten
 * seconds later, because controllers may be enabled, and limits set, after a step has begun.
 */
struct cgroup_files;

/* The values from which the counts of cgroups above the step count for this step. */
struct cgroup_base {
	double throttled; /* NaN: not known yet */
	struct levels_base levels[LEVELS_KINDS];
};

/* base: NULL, or the result of cgroup_files__base() for the same step before a restart. NULL: out
 * of memory. */
struct cgroup_files *cgroup_files__new(const struct cgroup_base *base);
void cgroup_files__base(const struct cgroup_files *f, struct cgroup_base *base); /* f may be NULL */
void cgroup_files__free(struct cgroup_files *f);
/* Whether cgroup_files__rescan() is due at this instant of CLOCK_BOOTTIME. */
bool cgroup_files__stale(const struct cgroup_files *f, uint64_t now_ns);
/* Opens the files that are not open yet, and reads the limits. d need not live longer. */
void cgroup_files__rescan(struct cgroup_files *f, const struct cgroup_dirs *d, uint64_t now_ns);
/* Reads every value into v[CG_N]; NaN where a file is missing, unreadable or has no number, or its
 * cgroup has gone. */
void cgroup_files__read(struct cgroup_files *f, double v[CG_N]);

#endif
