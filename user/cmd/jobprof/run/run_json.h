/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of "jobprof run --json": the user's, who could have written it. */
#ifndef JP_CMD_JOBPROF_RUN_JSON_H
#define JP_CMD_JOBPROF_RUN_JSON_H

#include <stdio.h>

#include "cmd/jobprof/run/run_user.h"

/* Whether the user may write it, before there is anything to write. "-" is standard output. Logs.
 * 0 or 1. */
int run_json__try(const struct run_user *u, const char *path);
/* What fn writes, as the user's file. fn returns 0, or it has said what is wrong. Logs. 0 or 1. */
int run_json__write(const struct run_user *u, const char *path, int (*fn)(void *arg, FILE *out),
		    void *arg);

#endif
