/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Minimum, maximum, mean, sum and last value of every column of a table (group Totals). */
#ifndef JP_HDF5_SUMMARY_H
#define JP_HDF5_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/series.h"

/* A series with fewer rows, those of all its tables, has no totals in its file. */
#define SUMMARY_ROWS 16

struct summary_cell {
	uint64_t n; /* values that were not NaN */
	double min, max, sum, last;
};

/* Adds rows[n][ncols] to cells[ncols]. NaN and columns with unknown[i] set are left out; so is 0 in
 * Slurm's gauges of processes (RSS, VMSize, CPUFrequency), which means that no process lived. */
void summary__rows(struct summary_cell *cells, const struct column *cols, const bool *unknown,
		   unsigned ncols, const union cell *rows, unsigned n);

/*
 * The columns of Totals/<series>: "Task" (U64: the table's decimal name, else its position) for a
 * grouped series, then for each column but times: Min_X, Max_X, Avg_X, and Sum_X where the column
 * is per interval or Last_X where it is cumulative; all F64. A histogram's buckets (how is
 * HOW_BUCKET) X0, X1 ... in that order are taken together: Min_X0, Min_X1 ..., then Max_X0 and so
 * on, each an array in the file, because the time in which the library copies rows grows with the
 * square of their members. *out is an array of *n, which summary__free_columns() frees. 0 or
 * -ENOMEM.
 */
int summary__columns(const struct column *cols, unsigned ncols, bool grouped, struct column **out,
		     unsigned *n);
void summary__free_columns(struct column *cols, unsigned n);

/* One row of that table; cells may be NULL for a table without rows. out has room for all of
 * its columns. */
void summary__fill(const struct summary_cell *cells, const struct column *cols, unsigned ncols,
		   bool grouped, uint64_t task, union cell *out);

/* A table's number in Totals: its decimal name, else its position in the series. */
uint64_t summary__task_number(const char *name, unsigned position);

#endif
