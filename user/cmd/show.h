/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CMD_SHOW_H
#define JP_CMD_SHOW_H

#include <stdbool.h>
#include <stdio.h>

/* The page of "jobprof show" about a node-step or job file. 0, or -errno; the pages of the nodes
 * before the one that failed were printed. The caller tells the user. */
int show__file(const char *path, bool json, FILE *out);

/* The same to stdout, from a child that a damaged file cannot take us down with. Tells the user.
 * Returns the exit status. */
int show__guarded(const char *path, bool json);

#endif
