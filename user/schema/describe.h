/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place that decides what a column of a file is: its kind and unit, what it means, and
 * which values its total has.
 */
#ifndef JP_SCHEMA_DESCRIBE_H
#define JP_SCHEMA_DESCRIBE_H

#include "schema/series.h"

/* The description of a column that its table stores (hdf5/column_attrs.h). */
struct column_stored {
	const char *unit, *doc; /* NULL: nothing is stored */
	bool has_kind;
	enum col_kind kind;
};

/*
 * Describes the column `name` of a table of `series`: as schemas/ do, where they have it in that
 * series (with Slurm's columns, Marks, and the time columns of every series); else as the table
 * does; else as a gauge without a unit, because a column must not be summed unless it is known to
 * be an amount per interval. stored may be NULL. In the series "Totals/<series>" the column "Min_X"
 * is described as X is in that series. The result has the texts and the name that were passed; the
 * caller sets its type and array.
 */
struct column column__describe(const char *series, const char *name,
			       const struct column_stored *stored);

/* The values of a total, in the order in which they are stored. */
enum aggregate { AGGREGATE_MIN, AGGREGATE_MAX, AGGREGATE_AVG, AGGREGATE_SUM, AGGREGATE_LAST };
#define AGGREGATES (AGGREGATE_LAST + 1)

/* Whether totals of columns of that kind have that value. All but time columns have the lowest, the
 * highest and the mean; amounts per interval have the sum, cumulative columns the last value. */
bool aggregate__is_of(enum aggregate a, enum col_kind kind);
const char *aggregate__prefix(enum aggregate a); /* "Min_" */
const char *aggregate__doc(enum aggregate a);	 /* "lowest" */
/* The name behind a prefix, X of "Min_X"; *a, if a is not NULL, becomes the prefix's aggregate.
 * NULL: the name begins with no such prefix. */
const char *aggregate__column(const char *name, enum aggregate *a);

#endif
