/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of users, from the machine's name services. */
#include "cmd/jobprof/user_name.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

static int copy_name(const struct passwd *pw, char **name)
{
	*name = pw ? strdup(pw->pw_name) : NULL;
	if (!pw)
		return -ENOENT;
	return *name ? 0 : -ENOMEM;
}

int user_name__of_uid(uid_t uid, char **name)
{
	return copy_name(getpwuid(uid), name);
}

int user_name__check(const char *text, char **name)
{
	return copy_name(getpwnam(text), name);
}
