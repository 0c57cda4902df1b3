/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table for a terminal: each column is as wide as its widest cell, and a column that no row fills
 * is left out. */
#ifndef JP_BASE_TEXT_TABLE_H
#define JP_BASE_TEXT_TABLE_H

#include <stdio.h>

#define TEXT_TABLE_COLUMNS 160

/* To be filled cell by cell, row by row; only the first three are the caller's. */
struct text_table {
	unsigned ncols;	    /* at most TEXT_TABLE_COLUMNS */
	unsigned nleft;	    /* so many columns are aligned to the left */
	const char *indent; /* before each row; NULL: nothing */
	FILE *cells;	    /* in memory, a NUL after each */
	char *text;
	size_t len;
};

/* The next cell, escaped (base/escape.h): names may be users'. */
void __attribute__((format(printf, 2, 3)))
text_table__cell(struct text_table *t, const char *fmt, ...);
/* The next cell is a number in this format, "-" where it is NaN. */
void text_table__number(struct text_table *t, const char *fmt, double v);
/* Prints the rows and frees them. Where memory was short, a part of the rows is printed. */
void text_table__end(struct text_table *t, FILE *out);

#endif
