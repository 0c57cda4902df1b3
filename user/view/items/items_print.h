/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms of "jobprof items" and "sh5util -I". */
#ifndef JP_VIEW_ITEMS_PRINT_H
#define JP_VIEW_ITEMS_PRINT_H

#include <stdio.h>

#include "base/outbuf.h"
#include "model/items.h"

struct items_format {
	const char *name;
	void (*begin)(struct outbuf *o, const struct items *it, const char *series);
	void (*row)(struct outbuf *o, const struct items *it, const struct items_row *row);
	void (*end_step)(struct outbuf *o, const struct items *it, const char *step,
			 const struct items_totals *t);
	void (*end)(struct outbuf *o);
	/* Prints the summary of a step apart from the rows; set where end_step is NULL. */
	void (*summary)(FILE *out, const struct items *it, const char *step, const char *column,
			const struct items_totals *t);
};

extern const struct items_format items_stock; /* of Slurm's sh5util */

/* How items are written. */
struct items_text {
	const struct items_format *format;
	const char *series, *column; /* their names, as in the file or as the user gave them */
	FILE *summary;
};

/* "csv", "json", "table"; NULL: no such. */
const struct items_format *items_format__find(const char *name);
void items_format__print_names(FILE *out); /* with a space after each */
/* Writes every row to fd. 0; -errno: the rows cannot be read or written. */
int items__write(struct items *it, const struct items_text *text, int fd);

#endif
