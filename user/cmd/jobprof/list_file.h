/* SPDX-License-Identifier: GPL-2.0-only */
/* "jobprof list" of a file. */
#ifndef JP_CMD_JOBPROF_LIST_FILE_H
#define JP_CMD_JOBPROF_LIST_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* What is in a file, of these nodes (a host list) and this series; each may be NULL. jobs or input
 * as input_file__choose has them. Returns the exit status. */
int list__file(const char *jobs, const char *input, const char *series, const char *nodes,
	       bool json, FILE *out);

#endif
