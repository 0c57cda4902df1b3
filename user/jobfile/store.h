/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores results in a job file, below /analysis. */
#ifndef JP_JOBFILE_STORE_H
#define JP_JOBFILE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

/* An object that becomes a group: its numbers, texts and truth values are attributes, its objects
 * are groups (but what "params" holds are attributes "param_NAME"), its arrays of objects tables,
 * its arrays of texts lists with commas; a NULL is left out. A table has the columns of its first
 * row, which are texts there or else numbers. A group that does not say its status, n_used and
 * n_missing has those of the group that it is in. */
struct store_group {
	const char *path; /* below /analysis: "pika", "clusters/3" */
	const json_t *object;
};

struct store_column {
	const char *name;
	bool is_number; /* else a text */
};

/* A table; rows[] are objects by the columns' names. What is absent or null is NaN or "". */
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
	const char *report;	  /* a text; NULL: the one that is there stays */
	const char *row;	  /* a text that goes with the report; NULL: there is none */
	time_t written_s; /* becomes the file's modification time; 0: that stays as it comes */
	const struct timespec *read_at; /* the file's modification time when it was read: where that
					 * is another one, nothing is stored; NULL: any */
	const json_t *common; /* attributes of all groups, of the table and the report, and, with
			       * a report, of /analysis */
	bool may_create; /* the file may have results alone: it is made where it is not there */
};

/*
 * Puts these results into /analysis of a job file in place of earlier ones of the same names; the
 * report is /analysis/report, the row /analysis/row. What other programs have put there stays. The
 * file is copied, and the copy renamed when it is complete and on the disk; owner and mode stay. 0,
 * or -errno and it has said why.
 */
int store__analysis(const char *path, const struct store_results *results);

#endif
