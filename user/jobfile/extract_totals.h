/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of totals: computed ones by shape, stored ones by node. */
#ifndef JP_JOBFILE_EXTRACT_TOTALS_H
#define JP_JOBFILE_EXTRACT_TOTALS_H

#include "jobfile/extract_internal.h"
#include "hdf5/summary.h"
#include "hdf5/table_columns.h"

struct stored_task {
	uint64_t task;
	unsigned row;
};

struct totals {
	/* Computed: what goes with the tables of a shape. */
	unsigned shape;
	struct table_columns columns;
	struct column *out;
	unsigned nout;
	bool *unknown;
	struct summary_cell *cells;
	union cell *row;
	/* Stored: those of the node at hand. */
	struct cursor *cursor;
	struct reader_node *node;
	char **names; /* the cursor's; all but Task */
	struct text_col *names_at;
	unsigned nnames;
	bool grouped;
	union cell *rows;
	unsigned nrows, ncols;
	struct stored_task *tasks; /* by number */
};

void totals__unload(struct totals *t);
/* The stored totals of a table, NULL: none. */
const union cell *totals__row(const struct totals *t, const char *table);

#endif
