/* SPDX-License-Identifier: GPL-2.0-only */
/* What could not be had of a file: the first ones are named, the others counted. */
#ifndef JP_CMD_PROBLEMS_H
#define JP_CMD_PROBLEMS_H

#include <stdbool.h>

struct problems {
	const char *path;
	const char *series; /* NULL: tables come with their series */
	unsigned lacking;   /* nodes and tables without the series or the column */
	unsigned damaged;   /* that cannot be read, wholly or in part */
};

/* For the callbacks of items and contents; ctx is a struct problems. err -ENODATA: lacking. */
void problems__add(void *ctx, const char *step, const char *node, const char *table, int err);
/* Says how many were not named. */
void problems__end(const struct problems *p);

#endif
