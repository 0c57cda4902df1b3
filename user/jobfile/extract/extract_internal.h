/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the extraction share. Each series takes two passes over its tables: the first
 * one collects their columns, of which the output's header is made, and the second one writes rows.
 */
#ifndef JP_JOBFILE_EXTRACT_INTERNAL_H
#define JP_JOBFILE_EXTRACT_INTERNAL_H

#include "base/progress.h"
#include "hdf5/cursor.h"
#include "jobfile/extract/extract.h"

struct totals;

struct column_unit {
	char *column, *unit;
};

struct extraction {
	const struct extract_options *opt;
	const char *path;
	struct reader *r;
	struct cursor *cursor;
	struct totals *totals;
	struct time_filter filter;
	struct text text;
	struct extract_result result;
	struct progress progress;
	bool collecting; /* the first pass: columns are collected, nothing is written */

	/* The series that is extracted now. */
	const char *wanted; /* as the user named it */
	char series[256];   /* as the file has it */
	struct selection sel;
	struct number_range one_task; /* the task that the series was named with */
	struct node_ref *refs;	      /* its nodes */
	unsigned nrefs;
	uint8_t *lacks;		    /* per ref: the node does not have the series */
	uint8_t *found;		    /* per range of sel.tasks: some table is in it */
	bool grouped, has_columns;  /* has_columns: a table's columns were added */
	struct string_list columns; /* of the output */
	struct string_list header;  /* what --stock makes of them for totals */
	struct column_unit *units;  /* of all columns that were collected */
	unsigned nunits;

	/* The table that is extracted now. */
	unsigned shape;		  /* the cursor's shape when cols was made; 0: never */
	bool unknowns;		  /* some of its columns are not known */
	struct text_col *cols;	  /* for each column of the output: where the table has it */
	struct string_list marks; /* of the table's node */
};

/* The name of a step in the output. */
const char *extract__step(const struct extraction *x, unsigned step);

/* extract_columns.c: in the first pass adds the n columns of the present table to the output's; in
 * the second pass sets x->cols for them. 0, -EBUSY, -E2BIG or -ENOMEM. */
int extract__map_columns(struct extraction *x, char *const *names, const struct text_col *cols,
			 unsigned n);
/* Between the passes: leaves of the collected columns those that the user chose. 0 or -ENOMEM. */
int extract__choose_columns(struct extraction *x);
/* Prepares x->text for the second pass; `before` is text before the header. 0 or -ENOMEM. */
int extract__lay_out(struct extraction *x, struct outbuf *out, const char *before);

/* With --units only: collects the units of the columns of the cursor's table, and puts the units of
 * the header into x->text. 0 or -ENOMEM. */
int extract__collect_units(struct extraction *x);
void extract__forget_units(struct extraction *x);

/* extract_time.c: whether rows of the cursor's table get a further column EXTRACT_SECONDS: TimeNS
 * as a number that can be plotted. */
bool extract__has_seconds(const struct extraction *x);
#define EXTRACT_SECONDS "Seconds"

/* extract_missing.c: names the table (NULL: the node) that cannot be read. 0, or err if it ends the
 * extraction. */
int extract__name_damaged(struct extraction *x, const struct node_ref *ref, const char *table,
			  int err);
/* Logs that the wanted tables have no row in the wanted time. */
void extract__name_no_rows(struct extraction *x);
/* Names what was selected of the present series and does not exist; empty: no table was written. */
void extract__name_missing(struct extraction *x, bool empty);

#endif
