/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tables as CSV, as JSON, or aligned for a terminal. */
#ifndef JP_JOBFILE_EXTRACT_TEXT_H
#define JP_JOBFILE_EXTRACT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbuf.h"
#include "base/string_list.h"
#include "schema/series.h"

enum extract_format { EXTRACT_CSV, EXTRACT_JSON, EXTRACT_TABLE };

/* Where a column's cells are in a row. */
struct text_col {
	int at; /* -1: this table does not have the column, or it is not known */
	enum col_type type;
	bool there; /* the table has it */
	/* COL_U64: the number k stands for the text v[k - 1], or, where that is "", for one that
	 * the file does not have; or NULL */
	const struct string_list *names;
	bool is_seconds; /* no column of the table: seconds since the start, from TimeNS, which is
			    at `at` */
};

struct text {
	struct outbuf *out;
	enum extract_format format;
	bool keep_nan; /* NaN is printed, as sh5util does; else it is no value */
	bool grouped;  /* tables have names of their own */
	const char *job, *series, *level;
	char *const *names; /* of the columns */
	const char **units; /* of the columns, or NULL */
	unsigned ncols;
	int step_width, node_width; /* EXTRACT_TABLE */
	int64_t start_ns;	    /* of the step, INT64_MIN: not known */
	struct outbuf prefix;	    /* in memory: the begin of each row of the present table */
	uint64_t rows;		    /* of the table so far */
	bool named;		    /* some column's numbers stand for texts */
	bool begun;		    /* the header was written */
	bool comma;		    /* JSON: some object was written before */
	const char *before;	    /* text before the header */
};

/* Begins a table; before the first one of a series, the header with the names of the columns.
 * table NULL: the series is one table. 0 or -ENOMEM. */
int text__open(struct text *t, const char *step, const char *node, const char *table,
	       const struct text_col *cols);
/* n rows of stride cells. */
void text__rows(struct text *t, const struct text_col *cols, const union cell *rows, unsigned n,
		unsigned stride);
void text__close(const struct text *t);
void text__free(struct text *t);

#endif
