/* SPDX-License-Identifier: GPL-2.0-only */
/* What the forms of extracted text share: each one is a struct text_format. */
#ifndef JP_JOBFILE_EXTRACT_FORMAT_H
#define JP_JOBFILE_EXTRACT_FORMAT_H

#include <math.h>

#include "jobfile/extract/extract_text.h"

struct text_format {
	void (*put_header)(struct text *t); /* before the first table of a series; NULL: nothing */
	/* Begins a table: with t->prefix, which is empty, or with text before the rows. */
	void (*open_table)(struct text *t, const char *step, const char *node, const char *table,
			   const struct text_col *cols);
	void (*put_row)(const struct text *t, const struct text_col *cols, const union cell *row);
	void (*close_table)(const struct text *t); /* NULL: nothing */
};

extern const struct text_format text_csv, text_json, text_table;

/* A cell of a column whose `at` is not -1. */
static inline union cell text_col__cell(const struct text *t, const struct text_col *col,
					const union cell *row)
{
	if (!col->is_seconds)
		return row[col->at];
	if (t->start_ns == INT64_MIN)
		return (union cell){.f = NAN};
	return (union cell){.f = (double)(int64_t)(row[col->at].u - (uint64_t)t->start_ns) / 1e9};
}

/* The text that the cell of a row stands for; NULL: the cell is that number. */
static inline const char *text_col__name(const struct text_col *col, const union cell *row)
{
	const uint64_t k = col->names && col->at >= 0 ? row[col->at].u : 0;

	return k && k <= col->names->n && *col->names->v[k - 1] ? col->names->v[k - 1] : NULL;
}

#endif
