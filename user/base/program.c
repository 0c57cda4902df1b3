/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds a program of this installation or build, and keeps users from looking into this one. */
#include "base/program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void program__find(const char *name, const char *elsewhere, char *buf, size_t len)
{
	char self[PATH_MAX] = "", *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !(slash = strrchr(self, '/')))
		slash = self;
	*slash = 0;
	snprintf(buf, len, "%s/%s", self, name);
	if (access(buf, X_OK))
		snprintf(buf, len, "%s/%s/%s", self, elsewhere, name);
}

void program__close_to_user(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks by tracing */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}
