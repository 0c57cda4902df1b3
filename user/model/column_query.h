/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One column of one series of a file, in all selected tables, which items.h and curve.h read row by
 * row. */
#ifndef JP_MODEL_COLUMN_QUERY_H
#define JP_MODEL_COLUMN_QUERY_H

#include "jobfile/select.h"
#include "model/model.h"

struct cursor;

struct column_query {
	const char *series; /* as in the file */
	const char *column; /* in upper or lower case; an exact match is preferred */
	const struct selection *sel;
	bool sum; /* for curve.h: of all tables their sum */
	/* Called for every node or table that is left out; table is NULL for a whole node. err:
	 * -ENODATA: it lacks the series or the column; else the error of reading it. May be NULL.
	 */
	void (*problem)(void *ctx, const char *step, const char *node, const char *table, int err);
	void *ctx;
};

void column_query__problem(const struct column_query *q, const char *step, const char *node,
			   const char *table, int err);

#define COLUMN_UNIT 32

/* All zeros before the first table. */
struct column_place {
	/* In tables of this shape; -1: none */
	unsigned shape;
	int value, ns, epoch, elapsed;
	/* These are of the first table that has the column: */
	char *name; /* the caller's to free */
	char unit[COLUMN_UNIT];
	enum col_kind kind;
};

/* Finds the column in the cursor's table. 0, also where there is none; -ENOMEM. */
int column_place__find(struct column_place *p, const struct column_query *q,
		       const struct cursor *c);

#endif
