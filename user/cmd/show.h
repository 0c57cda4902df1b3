/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CMD_SHOW_H
#define JP_CMD_SHOW_H

#include <stdio.h>

enum show_form {
	SHOW_PAGE,
	SHOW_ALL, /* with what the page leaves out */
	SHOW_JSON,
};

/* The page of "jobprof show" about a node-step or job file; also the summary of "jobprof run".
 * 0, or -errno: nothing was printed. The caller tells the user. */
int show__file(const char *path, enum show_form form, FILE *out);

/* What an error of show__file means to a user. */
const char *show__error(int err);

#endif
