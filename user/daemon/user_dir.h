/* SPDX-License-Identifier: GPL-2.0-only */
/* A user's directory below ProfileHDF5Dir: mode 0700 and the user's. */
#ifndef JP_DAEMON_USER_DIR_H
#define JP_DAEMON_USER_DIR_H

#include "daemon/child.h"

/*
 * Root makes the directory, in a child. The user's own ids are tried first: that is enough where
 * users may make directories in top, and all there is on a file system where root is nobody. Else
 * root makes it and gives it away. top must be there. Nothing that is there already is
 * changed or followed. 0: it is there; else -errno, for user_dir__open() to tell.
 */
int user_dir__make(const char *top, const struct child_user *u);

/*
 * Opens it, as the user. made: what user_dir__make() returned. The fd; -errno with what is wrong
 * and what to do in error. Somebody else's directory of that name (not the user's, not root's), a
 * link or a file is refused: -EPERM, -ELOOP, -ENOTDIR.
 */
int user_dir__open(const char *top, const struct child_user *u, int made, char *error, size_t len);

#endif
