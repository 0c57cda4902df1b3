/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which cgroup hierarchies this node has mounted, and which of them Slurm's tree is in. */
#ifndef JP_IDENTITY_HIERARCHY_H
#define JP_IDENTITY_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHY_MAX 32

struct hierarchy {
	bool v2;
	uint32_t id;	      /* the kernel's hierarchy id; 0 is v2 */
	char controllers[96]; /* v1: "cpu,cpuacct" or "name=systemd"; v2: "" */
	char mount[256];      /* where it is mounted */
	char root[256]; /* the cgroup that is mounted there: "/" except for bind mounts and in a
			   namespace */
};

/*
 * Finds the mounted hierarchies, each once (by the mount that shows most of it), in the order of
 * mountinfo. Returns how many, at most max; a hierarchy whose id cannot be found is left out.
 * -errno.
 */
int hierarchy__discover(struct hierarchy *out, unsigned max);
/* As hierarchy__discover(), but reads these files and not those of /proc. */
int hierarchy__discover_from(struct hierarchy *out, unsigned max, const char *mountinfo,
			     const char *cgroups, const char *self_cgroup);

/* The cgroup of a process ("self", "1") in one hierarchy, from the hierarchy's root. -ENOENT,
 * -E2BIG. */
int hierarchy__cgroup_of(const char *pid, const struct hierarchy *h, char *out, size_t len);

/*
 * The hierarchies to follow: v2 where mounted, and the one of v1 that carries Slurm's path: the
 * first of freezer, memory, cpuset, devices, cpuacct that has a directory slurm or slurm_<node>,
 * else the first of them that is mounted. (Slurm makes its path in each v1 controller it uses, so
 * one is enough, and two would count twice.) Indexes of h to out, at most max; returns how many.
 */
unsigned hierarchy__carriers(const struct hierarchy *h, unsigned n, unsigned *out, unsigned max);

#endif
