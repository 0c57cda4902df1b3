/* SPDX-License-Identifier: GPL-2.0-only */
/* What jobprofd's children have in common: each works for one job's user, as that user. */
#ifndef JP_DAEMON_CHILD_H
#define JP_DAEMON_CHILD_H

#include <sys/types.h>

/* Whose work it is. user may be "": only the ids count. */
struct child_user {
	const char *user;
	uid_t uid;
	gid_t gid;
};

/* First thing in a child: signals as a program expects them, its own cgroup (child_group.h), no
 * protection from the OOM killer, and none of the daemon's files, which have the locks of StateDir
 * and of the journals. */
void child__begin(void);
/* Standard input and output from and to nowhere: the daemon's may be a terminal. */
void child__silence(void);
/* For good, and the user can neither trace it nor read its memory, which is the daemon's; ids stay
 * where we are not root. 0 or -errno. */
int child__become(const struct child_user *u);
/* Effective ids and groups only, and back to root's: for one call on the user's behalf. 0 or
 * -errno; after an error of the second nothing more may be done. */
int child__act_as(const struct child_user *u);
int child__act_as_root(void);
/* Ends with a signal when its parent does. A change of ids takes the wish back, so it comes after
 * that. -ESRCH: the parent is gone already. */
int child__end_with(pid_t parent, int sig);

#endif
