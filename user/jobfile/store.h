/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores results in a job file, below /analysis. */
#ifndef JP_JOBFILE_STORE_H
#define JP_JOBFILE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

/* An object that becomes a group: numbers, texts and truth values become attributes, objects become
 * groups (but the members of "params" become attributes "param_NAME"), arrays of objects become
 * tables, and arrays of texts become lists with commas; null is left out. A table has the columns
 * of its first row, each of texts where it has a text there, else of numbers. A group without
 * status, n_used and n_missing gets those of the group around it. */
struct store_group {
	const char *path; /* below /analysis: "pika", "clusters/3" */
	const json_t *object;
};

struct store_column {
	const char *name;
	bool is_number; /* else a text */
};

/* A table; rows[] are objects with the columns' names as keys. What is absent or null becomes NaN
 * or "". */
struct store_table {
	const char *name; /* below /analysis: "findings" */
	const struct store_column *cols;
	unsigned ncols;
	const json_t *rows;
};

struct store_results {
	const struct store_group *groups;
	unsigned ngroups;
	struct store_table table; /* rows NULL: there is none */
	const char *report;	  /* a text; NULL: an existing one stays */
	const char *row;	  /* a text that goes with the report; NULL: there is none */
	const char *page;	  /* likewise, which is stored compressed */
	const json_t *page_by;	  /* the page's attributes */
	time_t written_s; /* becomes the file's modification time; 0: that stays as it comes */
	/* The file's modification time when it was read: where the file has another one, nothing is
	 * stored; NULL: any. */
	const struct timespec *read_at;
	const json_t *common; /* attributes for all groups, the table, the report and, where there
				 is a report, /analysis */
	bool may_create; /* the file may have only results: it is created if it does not exist */
};

/*
 * Puts these results into /analysis of a job file, where they replace those of the same names; the
 * report is /analysis/report, the row /analysis/row, the page
 * /analysis/page. Results of other programs stay. The file is
 * copied, and the copy is renamed when it is complete and on the disk; owner and mode stay. 0 or
 * -errno, logged.
 */
int store__analysis(const char *path, const struct store_results *results);

#endif
