/* SPDX-License-Identifier: GPL-2.0-only */
/* Can the users' directories be made below ProfileHDF5Dir? */
#ifndef JP_DAEMON_DIR_CHECK_H
#define JP_DAEMON_DIR_CHECK_H

#include <stddef.h>

/*
 * Makes a directory there and removes it, in a child process that is left behind after 5 s: shared
 * file systems hang. 0: yes, and say tells who makes the users' directories; -ETIMEDOUT, -errno:
 * no, and say tells why and what to do.
 */
int dir_check__run(const char *dir, char *say, size_t len);

#endif
