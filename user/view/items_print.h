/* SPDX-License-Identifier: GPL-2.0-only */
/* The forms of "jobprof items". */
#ifndef JP_VIEW_ITEMS_PRINT_H
#define JP_VIEW_ITEMS_PRINT_H

#include "base/outbuf.h"
#include "jobfile/items.h"

struct items_format {
	const char *name;
	void (*begin)(struct outbuf *o, const struct items *it, const char *series);
	void (*row)(struct outbuf *o, const struct items *it, const struct items_row *row);
	void (*end_step)(struct outbuf *o, const struct items *it, const char *step,
			 const struct items_totals *t);
	void (*end)(struct outbuf *o);
};

/* "csv", "json", "table"; NULL: no such. */
const struct items_format *items_format__find(const char *name);
/* A cell, or a sum of them, as text: integers exactly, else six decimals. */
void items__print(struct outbuf *o, struct items_number v, enum col_type type);
/* NODE or NODE/TASK. */
void items__print_label(struct outbuf *o, const struct items_col *col);

#endif
