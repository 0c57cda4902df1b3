/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "jobprof list" for a file. */
#ifndef JP_CMD_JOBPROF_LIST_FILE_H
#define JP_CMD_JOBPROF_LIST_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/jobprof/select_args.h"

/* LIST_SHORT: only the names of columns, unless a series is named. LIST_ALL: also what they mean,
 * and the totals. */
enum list_form { LIST_SHORT, LIST_ALL, LIST_JSON };

/* Lists the contents of the file that -j or -i names, of the selected nodes and series.
 * Returns the exit status. */
int list__file(const struct select_words *words, enum list_form form, FILE *out);

#endif
