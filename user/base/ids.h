/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ids of a child of fork(2). glibc's own setuid(2) and its like change all threads of a process,
 * and in the child of one in which a thread is just starting they wait for that thread for ever.
 * These change the calling thread, which is the only one there.
 */
#ifndef JP_BASE_IDS_H
#define JP_BASE_IDS_H

#include <sys/types.h>

/* The groups that the user database has for the user, and gid; gid alone where it does not know the
 * user. 0 or -errno. */
int ids__set_groups(const char *user, gid_t gid);
/* The first removes all supplementary groups, the second sets the real, effective and saved ids. 0
 * or -errno. */
int ids__drop_groups(void);
int ids__set(uid_t uid, gid_t gid);
/* Sets the effective ids alone, so that the process can go back to its former ones. 0 or -errno. */
int ids__set_effective(uid_t uid, gid_t gid);

#endif
