/* SPDX-License-Identifier: GPL-2.0-only */
#include "cmd/jobprof/full.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"

static char **started_with;

void full__init(char **argv)
{
	started_with = argv;
}

void full__become(const char *what)
{
	char path[PATH_MAX];

	program__find("jobprof-full", "../libexec/jobprof", path, sizeof(path));
	execv(path, started_with);
	log_error("%s: %s: %s; it is installed with jobprof", what, path, strerror(errno));
}
