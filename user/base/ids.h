/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ids of a child of fork(2). glibc's own setuid(2) and the like change all threads of a process; in
 * the child of a process in which a thread was just starting they would wait for that thread for
 * ever. These functions change the calling thread, which is the only one in the child.
 */
#ifndef JP_BASE_IDS_H
#define JP_BASE_IDS_H

#include <sys/types.h>

/* No user has it, nor a file: no process but root's and of the same id may send it a signal.
 * nobody's may be many. */
#define IDS_OWN 4294967280u

/* Sets the groups that the user database has for the user, and gid; only gid where it does not know
 * the user. 0 or -errno. */
int ids__set_groups(const char *user, gid_t gid);
/* The first removes all supplementary groups, the second sets the real, effective and saved ids. 0
 * or -errno. */
int ids__drop_groups(void);
int ids__set(uid_t uid, gid_t gid);
/* Sets the effective ids to those of a user, for good. The others are no user's, so that this one
 * can neither end the process nor stop it, nor set its limits. Where there are not so many users,
 * as in some containers, as ids__set(). */
int ids__work_as(uid_t uid, gid_t gid);
/* Sets the effective ids alone, so that the process can go back to its former ones. 0 or -errno. */
int ids__set_effective(uid_t uid, gid_t gid);

#endif
