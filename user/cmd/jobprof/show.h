/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JP_CMD_JOBPROF_SHOW_H
#define JP_CMD_JOBPROF_SHOW_H

#include <stdio.h>

#include "base/hostlist.h"

enum show_form {
	SHOW_PAGE,
	SHOW_ALL, /* with what the page leaves out */
	SHOW_JSON,
};

struct show_opts {
	enum show_form form;
	const struct string_list *nodes; /* NULL: all, or none of a large job */
	const char *const *steps;	 /* pages of these; nsteps 0: of all */
	unsigned nsteps;
};

/* The pages about one file, by this process. Tells the user what fails; the pages of the nodes
 * before are printed then. Returns the exit status. */
int show__file(const char *path, const struct show_opts *opts, FILE *out);

#endif
