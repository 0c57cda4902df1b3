/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes tables of a node-step file or a job file as text. Rows go from the file to the output as
 * they are read, so that memory does not grow with the file. Parts that cannot be read are named on
 * stderr and left out.
 */
#ifndef JP_JOBFILE_EXTRACT_H
#define JP_JOBFILE_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "jobfile/extract/extract_text.h"
#include "jobfile/extract/extract_time.h"
#include "jobfile/select.h"

/*
 * stock: what sh5util prints. Columns are those that all tables have, in the order of the first
 * one; steps have the names of their groups; NaN and integers that are unknown are printed as they
 * are stored; totals are those of every column but ElapsedTime, sums in the column's type. Callers
 * set sel.by_name with it. Without stock, columns are those that any table has, unknown values are
 * empty, steps have the names that Slurm prints, rows with TimeNS get a further column Seconds
 * (since the step's start, with fractions), and totals have Min_, Max_, Avg_, and Sum_ of columns
 * per interval or Last_ of cumulative ones. Marks are printed as their texts.
 */
struct extract_options {
	const char *const *series; /* as select__series takes them, at least one */
	unsigned nseries;
	struct selection sel;	    /* a series that names its task overrides the tasks */
	const char *const *columns; /* the columns to be written, in this order; ncolumns 0: all.
				       "Max_RSS" names one total, "RSS" all totals of the column */
	unsigned ncolumns;
	struct time_bound from, to; /* not with stock */
	enum extract_format format;
	bool totals; /* totals, one row per table; else all rows */
	bool stock;
	bool units; /* a second header line, or a list: units of the columns; not with stock */
};

struct extract_result {
	uint64_t tables;  /* written */
	uint64_t rows;	  /* written */
	uint64_t damaged; /* nodes and tables that could not be read, wholly or in part */
	uint64_t lacking; /* nodes without the series */
	uint64_t missing; /* selected steps, nodes, series, tasks and columns that do not exist */
	bool opened;	  /* the file is a profile */
	bool all_there;	  /* all selected steps and nodes exist */
	int write_error;  /* -errno of fd, returned too */
};

/*
 * Writes to fd, from its current position. Each selected table is read twice: for its columns
 * before the header of its series is written, and for its rows. CSV and table: series one after the
 * other, each with its header, an empty line between. JSON: one array with an object per table.
 * Nothing is written when no table is found. 0: done, *result has what was found and what was not;
 * else the rest was not written: -EINVAL: a series that cannot be a name; -E2BIG: more columns than
 * are followed; -EBUSY: the file changed meanwhile; -ENOMEM; what reader__open fails with. All of
 * it has been logged, but result->write_error has not.
 */
int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result);

#endif
