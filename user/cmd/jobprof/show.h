/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_CMD_JOBPROF_SHOW_H
#define JP_CMD_JOBPROF_SHOW_H

#include <stdio.h>

#include "base/hostlist.h"

enum show_form {
	SHOW_PAGE,
	SHOW_ALL, /* also with what the page leaves out */
	SHOW_JSON,
};

struct show_opts {
	enum show_form form;
	const struct string_list *nodes; /* NULL: all, or none of a large job */
	const char *const *steps;	 /* pages of these; nsteps 0: of all */
	unsigned nsteps;
};

/* Prints the pages about one file, in this process. Logs what fails; pages of earlier nodes are
 * printed in that case. Returns the exit status. */
int show__file(const char *path, const struct show_opts *opts, FILE *out);

#endif
