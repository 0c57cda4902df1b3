/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of users, from the machine's name services. */
#ifndef JP_CMD_JOBPROF_USER_NAME_H
#define JP_CMD_JOBPROF_USER_NAME_H

#include <sys/types.h>

/* Both set *name to the user's name, which the caller frees. 0; -ENOENT: there is no such user here
 * (*name is NULL); -ENOMEM. */
int user_name__of_uid(uid_t uid, char **name);
int user_name__check(const char *text, char **name);

#endif
