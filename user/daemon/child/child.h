/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprofd's children have in common: each works for one job's user, as that user. */
#ifndef JP_DAEMON_CHILD_CHILD_H
#define JP_DAEMON_CHILD_CHILD_H

#include <sys/types.h>

/* The user that a child works for. user may be "": only the ids count. */
struct child_user {
	const char *user;
	uid_t uid;
	gid_t gid;
};

/* The first call in a child: sets signals as a program expects them, moves to the children's cgroup
 * (see child_group__make()), gives up the protection from the OOM killer, and closes the daemon's
 * files, which have the locks of StateDir and of the journals. */
void child__begin(void);
/* Connects standard input and output to /dev/null: the daemon's may be a terminal. */
void child__silence(void);
/* Becomes the user for good. The user can neither trace the process nor read its memory, which is
 * the daemon's. Without root's rights the ids stay. 0 or -errno. */
int child__become(const struct child_user *u);
/* Sets the effective ids and groups of the user, and those of root again: for one call on the
 * user's behalf. 0 or -errno; after an error of the second function the process must end. */
int child__act_as(const struct child_user *u);
int child__act_as_root(void);
/* The process gets that signal when its parent ends. A change of ids cancels this, so the call
 * comes after such a change. -ESRCH: the parent has ended already. */
int child__end_with(pid_t parent, int sig);

/*
 * A cgroup for what runs as jobs' users, so that it has limits of its own and is not in jobprofd's.
 * It is made in the cgroup that a service manager has given to jobprofd alone; started by hand,
 * jobprofd shares its cgroup with others, makes none, and its children stay where they are.
 */

/* Makes the cgroup in v2 and in v1's memory and pids, wherever that can be done. On v2 jobprofd
 * itself moves into a cgroup next to it: limits are for cgroups whose parent has no processes. */
void child_group__make(void);
/* Removes the cgroup. It stays where a child is still in it. */
void child_group__remove(void);

/* A user's directory below ProfileHDF5Dir: mode 0700 and the user's, or 2750 and a group's, too. */

/* Once, at the start: the group whose members may read all users' files (ProfileGroup); NULL: none.
 * A group that is not there is logged, and none is used. */
void user_dir__share(const char *group);

/*
 * Makes the directory as root, in a child. The user's own ids are tried first: that is enough where
 * users may make directories in top, and it is the only way on a file system that maps root to the
 * user nobody. Else root makes the directory and gives it to the user. top must exist. Nothing that
 * exists already is followed, or changed but for a directory of the user's that ProfileGroup does
 * not have yet. 0: the directory exists; else -errno, for user_dir__open() to log.
 */
int user_dir__make(const char *top, const struct child_user *u);

/*
 * Opens the directory, as the user. made: the result of user_dir__make(). Returns the fd; -errno
 * with the problem and the remedy in error. A directory of another user (not root's), a link or a
 * file of that name is refused: -EPERM, -ELOOP, -ENOTDIR.
 */
int user_dir__open(const char *top, const struct child_user *u, int made, char *error, size_t len);

#endif
