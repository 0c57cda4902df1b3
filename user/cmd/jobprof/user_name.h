/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of users. Both may start the program anew (full.h): first thing of all, then. */
#ifndef JP_CMD_JOBPROF_USER_NAME_H
#define JP_CMD_JOBPROF_USER_NAME_H

#include <sys/types.h>

/* Both give a name to be freed. -ENOENT: there is no such user here. -ENOMEM. */
int account__by_uid(uid_t uid, char **name);
int account__by_name(const char *text, char **name);

#endif
