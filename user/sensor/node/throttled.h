/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a CPU quota has held a cgroup, be the quota its own or set above it. From Linux 6.6 on
 * the kernel counts that itself (cpu.stat.local: 677ea015f231). Before, every cgroup with a quota
 * counts only how long the quota held anything below: these times are added from the cgroup up to
 * the root, which is too much where the quota held only other cgroups. What a cgroup above counted
 * before the first look is subtracted. Each of several CPUs that were held at once counts.
 */
#ifndef JP_SENSOR_NODE_THROTTLED_H
#define JP_SENSOR_NODE_THROTTLED_H

#define THROTTLED_LEVELS 16

struct cgroup_dirs;

struct throttled {
	int fd[THROTTLED_LEVELS];
	unsigned n; /* of fd; 0: nothing is open */
	const struct throttled_way *way;
	double base; /* s, taken off; NaN: not known yet */
};

/* Opens the files there are, unless some are open; a base that is known stays. Returns how many
 * files were opened. */
unsigned throttled__open(struct throttled *t, const struct cgroup_dirs *d);
/* Seconds, or NaN. */
double throttled__read(const struct throttled *t);
/* Returns how many files were closed. */
unsigned throttled__close(struct throttled *t);

#endif
