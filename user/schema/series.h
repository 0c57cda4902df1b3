/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series at run time: a name, a list of columns, rows of 8-byte cells. */
#ifndef JP_SCHEMA_SERIES_H
#define JP_SCHEMA_SERIES_H

#include <stdio.h>

#include "schema/column.h"

struct series {
	const char *name; /* "Tasks", "Step", "Energy" ... */
	const char *doc;
	const struct column *cols;
	unsigned ncols;
	bool grouped;  /* a group of tables: Tasks/<gtid>, Port/<name> */
	bool of_node;  /* readings of the node's sensors, not what the step's processes did */
	bool of_parts; /* what the step's processes did, in tables of something else than tasks */
};

/* What follows the name of a series in the names of its tables, for people. */
static inline const char *series__tables(const struct series *s)
{
	return !s->grouped ? "" : s->of_node || s->of_parts ? "/<name>" : "/<task>";
}

/* The built-in series, made from schemas/. */
extern const struct series builtin_series[];
extern const unsigned n_builtin_series;
const struct series *series__find(const char *name); /* case-insensitive; NULL: no such */

/* For completion, each with a space after it: series__print_names() prints the names of series and
 * of other tables and groups; series__print_columns() those of all columns but the buckets of
 * histograms. */
void series__print_names(FILE *out);
void series__print_columns(FILE *out);
/* A sentence on a table or group that is no built-in series (its name may be in any case); NULL:
 * there is none of that name. */
const char *series__group_doc(const char *name);
/* Whether a name (in any case) is taken by a built-in series, or by another table or group of a
 * node.
 */
bool series__is_reserved(const char *name);

/* The column of the i-th event that is counted; the caller fills doc and blind. name must live as
 * long as the column. */
struct column series__event(const char *name, unsigned i);

/* The columns of s in the families of mask, in schema order; at most max pointers to out.
 * Returns how many; 0 when nothing but time columns would be left. */
unsigned series__select(const struct series *s, unsigned mask, const struct column **out,
			unsigned max);

#endif
