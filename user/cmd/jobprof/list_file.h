/* SPDX-License-Identifier: GPL-2.0-only */
/* "jobprof list" of a file. */
#ifndef JP_CMD_JOBPROF_LIST_FILE_H
#define JP_CMD_JOBPROF_LIST_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Lists what is in the file that jobs or input name (see input_file__choose): only these nodes (a
 * host list) and this series, each of which may be NULL. Returns the exit status. */
int list__file(const char *jobs, const char *input, const char *series, const char *nodes,
	       bool json, FILE *out);

#endif
