/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user who runs CMD, and what that user may do; both are found out before anything is started.
 */
#ifndef JP_CMD_JOBPROF_RUN_USER_H
#define JP_CMD_JOBPROF_RUN_USER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/kern.h"

struct run_user {
	uid_t uid;
	gid_t gid;
	char name[64]; /* "": it has none */
};

/* The exit status of shells for a command that cannot be run. */
#define RUN_STATUS(err) ((err) == ENOENT ? 127 : 126)

/* Finds the user `name`, else the caller of sudo, else the caller. Logs. 0 or -EINVAL. */
int run_user__find(struct run_user *u, const char *name);
/* For a child: becomes the user. Logs. 0 or -errno. */
int run_user__become(const struct run_user *u);
/* For files of the user: this process takes the user's rights, and then its own again. 0 or -errno.
 */
int run_user__act(const struct run_user *u);
int run_user__act_as_ourselves(void);
/* As the user, makes the directory if it is missing, and tries whether a file can be made in it.
 * path becomes the directory's real path. Logs. 0 or -errno. */
int run_user__output(const struct run_user *u, const char *dir, char path[static 4096]);
/* Whether the user finds and may run the command. Logs. 0, or the exit status 126 or 127. */
int run_user__command(const struct run_user *u, const char *command);

struct run_cgroup {
	char home[600];	  /* the cgroup of this process */
	char dir[4][600]; /* from the outermost to the task's */
	int made;
	unsigned evicted; /* processes that ran on */
	char names[128];  /* names of these, each once */
	bool more_names;
};

/* 0 or -errno, logged. */
int run_cgroup__make(struct run_cgroup *c, const struct kern_root *r, uint32_t job);
/* As fork(), but the child begins inside the task's cgroup. */
pid_t run_cgroup__fork(const struct run_cgroup *c);
/* Moves processes that still run in the tree to the cgroup of this process; returns how many were
 * moved so far. */
unsigned run_cgroup__evict(struct run_cgroup *c);
/* 0 when the tree is gone, -EBUSY while something is in it. */
int run_cgroup__remove(struct run_cgroup *c);

#endif
