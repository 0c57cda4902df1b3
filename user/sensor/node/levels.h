/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a limit was met: the cgroup's own limit, and those of the cgroups above it, such as the
 * job's or Slurm's. The nearest cgroup that has the count is always read, the cgroups above it only
 * if they have a limit. Counts from before the first look at a cgroup above are subtracted.
 */
#ifndef JP_SENSOR_NODE_LEVELS_H
#define JP_SENSOR_NODE_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define LEVELS_MAX    16
#define LEVELS_COUNTS 2

enum levels_kind {
	LEVELS_QUOTA,  /* periods in which a CPU quota was used up */
	LEVELS_MEMORY, /* times that memory was at memory.high, and at memory.max */
	LEVELS_KINDS
};

struct cgroup_dirs;

/* What is subtracted, and for which levels; a restarted collector goes on with it. All 0: nothing.
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

/* Opens what is not open yet: limits may be set later. Returns how many files were opened. */
unsigned levels__open(struct levels *l, enum levels_kind kind, const struct cgroup_dirs *d);
/* The counts of the kind; NaN: not known. */
void levels__read(const struct levels *l, double count[LEVELS_COUNTS]);
/* Returns how many files were closed. */
unsigned levels__close(struct levels *l);

#endif
