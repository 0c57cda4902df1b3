/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroup tree of one jobprof run: jobprof_<pid>/job_<id>/step_0/task_0 below our own cgroup. */
#ifndef JP_CMD_JOBPROF_RUN_CGROUP_H
#define JP_CMD_JOBPROF_RUN_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/kern.h"

struct run_cgroup {
	char home[600];	  /* where we are ourselves */
	char dir[4][600]; /* from the outermost to the task's */
	int made;
	unsigned evicted; /* processes that ran on */
	char names[128];  /* of them, each once */
	bool more_names;
};

/* 0 or -errno, logged. */
int run_cgroup__make(struct run_cgroup *c, const struct kern_root *r, uint32_t job);
/* A child that begins inside the task's cgroup: like fork(). */
pid_t run_cgroup__fork(const struct run_cgroup *c);
/* Moves what still runs in it out to where we are; returns how many processes that were so far. */
unsigned run_cgroup__evict(struct run_cgroup *c);
/* 0 when the tree is gone, -EBUSY while something is in it. */
int run_cgroup__remove(struct run_cgroup *c);

#endif
