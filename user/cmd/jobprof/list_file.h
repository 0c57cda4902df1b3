/* SPDX-License-Identifier: GPL-2.0-only */
/* "jobprof list" of a file. */
#ifndef JP_CMD_JOBPROF_LIST_FILE_H
#define JP_CMD_JOBPROF_LIST_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/jobprof/select_args.h"

/* Lists what is in the file that -j or -i names, of the nodes and the series that were named.
 * Returns the exit status. */
int list__file(const struct select_words *words, bool json, FILE *out);

#endif
