/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a program of this installation or build, and keeps users from looking into this one. */
#include "base/program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Puts the path of a file that may be used so (see access()) beside this program, else elsewhere,
 * into buf. Both paths are relative to this program's directory. */
static void find_program(const char *beside, const char *elsewhere, int mode, char *buf, size_t len)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	*(slash ? slash : self) = 0;
	snprintf(buf, len, "%s/%s", self, beside);
	if (access(buf, mode))
		snprintf(buf, len, "%s/%s", self, elsewhere);
}

void program__find(const char *name, const char *elsewhere, char *buf, size_t len)
{
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s/%s", elsewhere, name);
	find_program(name, other, X_OK, buf, len);
}

void program__find_data(const char *beside, const char *elsewhere, char *buf, size_t len)
{
	find_program(beside, elsewhere, R_OK, buf, len);
}

void program__close_to_user(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks by tracing */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}
