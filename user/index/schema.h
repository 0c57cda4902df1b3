/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Upgrades the tables of an index from an earlier version to a later one. */
#ifndef JP_INDEX_SCHEMA_H
#define JP_INDEX_SCHEMA_H

#include <stddef.h>

#include "index/db.h"

/* Statements that make of tables of a version those of the next one; NULL ends them. */
struct schema_step {
	int from;
	const char *const *sql;
};

/* Runs the steps from that version on, in their order, and notes the version `to`; in a
 * transaction of the caller, which rolls back where a step fails. Columns that the table job
 * lacks are added without a step. 0 or -errno. */
int schema__upgrade(struct db *d, const struct schema_step *steps, size_t n, int from, int to);

#endif
