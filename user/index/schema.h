/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Upgrades the tables of an index from an earlier version. */
#ifndef JP_INDEX_SCHEMA_H
#define JP_INDEX_SCHEMA_H

#include <stddef.h>

#include "index/db.h"

/* Statements that upgrade the tables of a version to the next one; NULL ends them. */
struct schema_step {
	int from;
	const char *const *sql;
};

/* Runs the steps from version `from` on, in their order, and stores the version `to`, in a
 * transaction of the caller, who rolls it back after an error. Columns that the table job lacks are
 * added without a step. 0 or -errno. */
int schema__upgrade(struct db *d, const struct schema_step *steps, size_t n, int from, int to);

#endif
