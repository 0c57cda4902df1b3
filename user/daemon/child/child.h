/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprofd's children have in common: each works for the user of one job, with that user's
 * rights. */
#ifndef JP_DAEMON_CHILD_CHILD_H
#define JP_DAEMON_CHILD_CHILD_H

#include <sys/types.h>

/* The user for whom a child works. `user` may be "": then only the ids count. */
struct child_user {
	const char *user;
	uid_t uid;
	gid_t gid;
};

/* The first call in a child: sets signals as a program expects them, moves to the children's cgroup
 * (see child_group__make()), gives up the protection from the OOM killer, and closes the daemon's
 * files, because the locks of StateDir and of the journals are on them. */
void child__begin(void);
/* Connects standard input and output to /dev/null, because the daemon's may be a terminal. */
void child__silence(void);
/* Becomes the user for good. The user can neither trace the process nor read its memory, which is a
 * copy of the daemon's. Without root's rights the ids stay as they are. 0 or -errno. */
int child__become(const struct child_user *u);
/* Takes ids that no user and no file has, without groups. Capabilities stay until
 * confine__process() takes them. 0 or -errno. */
int child__become_helper(void);
/* Sets the effective ids and groups of the user, and those of root again: for one call on the
 * user's behalf. 0 or -errno; after an error of the second function the process must end. */
int child__act_as(const struct child_user *u);
int child__act_as_root(void);
/* The node has jobs, which have precedence for CPUs and memory: gives up what it can of both. */
void child__yield(void);
/* What works for root's own jobs needs no capability either: gives up all (CONFINE_VERB), and core
 * dumps. 0 or -errno. */
int child__drop_capabilities(void);
/* Makes the kernel send this process a signal when its parent ends. A change of ids cancels this,
 * so this is called after such a change. -ESRCH: the parent has ended already. */
int child__end_with(pid_t parent, int sig);

/*
 * A cgroup for what runs as jobs' users, so that it has limits of its own and is not in jobprofd's.
 * The cgroup is made where a service manager has given jobprofd a cgroup of its own. A jobprofd
 * that was started by hand shares its cgroup with others, makes none, and its children stay where
 * they are.
 */

/* Makes the cgroup in v2 and in v1's memory and pids, wherever that can be done. On v2 jobprofd
 * itself moves into a cgroup next to it: limits are for cgroups whose parent has no processes. */
void child_group__make(void);
/* Removes the cgroup. It stays where a child is still in it. */
void child_group__remove(void);

/* A user's directory below ProfileHDF5Dir: it is the user's with mode 0700, or with a group and
 * mode 2750. */

/* Sets, once at the start, the group whose members may read all users' files (ProfileGroup); NULL:
 * none. Where the group does not exist, this is logged and no group is used. */
void user_dir__share(const char *group);

/*
 * Makes the directory as root, in a child. The user's own ids are tried first: that is enough where
 * users may make directories in top, and it is the only way on a file system that maps root to the
 * user nobody. Else root makes the directory and gives it to the user. top must exist. Links are
 * not followed, and nothing that exists is changed, except that a directory of the user gets
 * ProfileGroup. 0: the directory exists; else -errno, for user_dir__open() to log.
 */
int user_dir__make(const char *top, const struct child_user *u);

/*
 * Opens the directory, as the user. made: the result of user_dir__make(). Returns the fd; -errno
 * with the problem and the remedy in error. A directory of another user (not root's), a link or a
 * file of that name is refused: -EPERM, -ELOOP, -ENOTDIR.
 */
int user_dir__open(const char *top, const struct child_user *u, int made, char *error, size_t len);

#endif
