/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/jobprof/user_name.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jobprof/full.h"

#define FILE_OF_USERS "/etc/passwd"

/* They ask the name services, so they are in jobprof-full only: a weak reference does not bring
 * them into the other. */
#pragma weak getpwuid
#pragma weak getpwnam

static bool is_meant(const struct passwd *pw, uid_t uid, const char *name)
{
	if (*pw->pw_name == '+' || *pw->pw_name == '-') /* of NIS: nobody's */
		return false;
	return name ? !strcmp(pw->pw_name, name) : pw->pw_uid == uid;
}

static const struct passwd *in_file(uid_t uid, const char *name)
{
	FILE *f = fopen(FILE_OF_USERS, "re");
	const struct passwd *pw = NULL;

	if (!f)
		return NULL;
	do
		pw = fgetpwent(f);
	while (pw && !is_meant(pw, uid, name));
	fclose(f);
	return pw;
}

/* name NULL: the one with that uid. */
static int find(uid_t uid, const char *name, char **out)
{
	const struct passwd *pw;

	if (getpwuid && getpwnam) {
		pw = name ? getpwnam(name) : getpwuid(uid);
	} else {
		pw = in_file(uid, name);
		if (!pw)
			full__become("users who are not in " FILE_OF_USERS);
	}
	*out = pw ? strdup(pw->pw_name) : NULL;
	if (!pw)
		return -ENOENT;
	return *out ? 0 : -ENOMEM;
}

int account__by_uid(uid_t uid, char **name)
{
	return find(uid, NULL, name);
}

int account__by_name(const char *text, char **name)
{
	return find(0, text, name);
}
