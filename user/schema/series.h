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
	bool of_parts; /* what the step's processes did, divided by something else than tasks */
};

/* What follows the name of a series in the names of its tables. */
static inline const char *series__tables(const struct series *s)
{
	return !s->grouped ? "" : s->of_node || s->of_parts ? "/<name>" : "/<task>";
}

/* The built-in series, made from schemas/. */
extern const struct series builtin_series[];
extern const unsigned n_builtin_series;
const struct series *series__find(const char *name); /* case-insensitive; NULL: no such */

/* For completion, with a space after each: the names of the built-in ones and of other tables and
 * groups; and those of all columns, but for the buckets of histograms. */
void series__print_names(FILE *out);
void series__print_columns(FILE *out);
/* A sentence on a table or group that is no built-in series (any case); NULL: there is none of that
 * name. */
const char *series__group_doc(const char *name);
/* A built-in series or another table or group of a node's (any case): no other may have that name.
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
