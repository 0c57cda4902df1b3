/* SPDX-License-Identifier: GPL-2.0-only */
/* What could not be had of a file: the first ones are named, the others counted. */
#ifndef JP_CMD_JOBPROF_READ_ERRORS_H
#define JP_CMD_JOBPROF_READ_ERRORS_H

#include <stdbool.h>

#define PROBLEMS_NAMED 10u /* a job may have thousands of nodes */

struct problems {
	const char *path;
	const char *series; /* NULL: tables come with their series */
	unsigned lacking;   /* nodes and tables without the series or the column */
	unsigned damaged;   /* that cannot be read, wholly or in part */
	bool hold;	    /* those that lack it are named by problems__end() */
	char *held[PROBLEMS_NAMED];
	unsigned nheld;
};

/* For the callbacks of items and contents; ctx is a struct problems. err -ENODATA: lacking. */
void problems__add(void *ctx, const char *step, const char *node, const char *table, int err);
/* Names what was held, unless the whole file lacks it, and says how many were not named. */
void problems__end(struct problems *p, bool whole);

#endif
