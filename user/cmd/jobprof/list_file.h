/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "jobprof list" of a file. */
#ifndef JP_CMD_JOBPROF_LIST_FILE_H
#define JP_CMD_JOBPROF_LIST_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/jobprof/select_args.h"

/* Names of columns alone, unless a series is named; what they mean, and the totals; JSON. */
enum list_form { LIST_SHORT, LIST_ALL, LIST_JSON };

/* Lists what is in the file that -j or -i names, of the nodes and the series that were named.
 * Returns the exit status. */
int list__file(const struct select_words *words, enum list_form form, FILE *out);

#endif
