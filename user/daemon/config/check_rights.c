// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks who may write to what jobprofd believes, and read what it executes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "daemon/config/check.h"

/* -EPERM, logged, where others than root may write to a directory that is there. */
static int check_roots(const char *key, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) || (!st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return 0;
	log_error("%s: others than root may write to %s (mode %04o, of uid %u), and so decide "
		  "what is believed: chown root, chmod go-w, or name another directory",
		  key, dir, st.st_mode & 07777, st.st_uid);
	return -EPERM;
}

int check__root_alone(const struct config *c)
{
	char dir[128];
	char *slash;
	int err;

	snprintf(dir, sizeof(dir), "%s", c->socket);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	err = check_roots("Socket", slash ? dir : ".");
	return check_roots("StateDir", c->state_dir) ? -EPERM : err;
}

/* What executes a file that it may not read cannot be traced, from its first instruction on. */
void check__unreadable(const char *program)
{
	struct stat st;

	if (!stat(program, &st) && st.st_mode & (S_IRGRP | S_IROTH))
		log_warn("%s can be read by others than root: a job's user could trace it, and so "
			 "run programs in jobprofd's cgroup: chmod 711",
			 program);
}
