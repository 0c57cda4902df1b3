/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables an items query is about, and stretches of their rows. */
#ifndef JP_MODEL_ITEMS_TABLES_H
#define JP_MODEL_ITEMS_TABLES_H

#include "hdf5/cursor.h"
#include "model/items.h"

#define NS INT64_C(1000000000)

/* One row of one table. */
struct item {
	int64_t bin;	  /* which period */
	uint32_t ord;	  /* its number among the rows of its table in that period */
	bool known;	  /* v is a value */
	int64_t time_ns;  /* unix time */
	uint64_t elapsed; /* s */
	union cell v;
};

struct item_table {
	unsigned step, node; /* the reader's numbers */
	const char *name;    /* the items_tables' */
	unsigned col;	     /* of the result */
	enum col_type type;
	int64_t start_ns;	  /* of the step; INT64_MIN: not known, or rows have no TimeNS */
	int64_t first_ns, ref_ns; /* of its first row, and of one at its regular time */
	int64_t phase;		  /* ns */
	uint64_t nrows, pos;	  /* rows, and how many of them are done */
	int64_t bin;		  /* of the last row done */
	uint32_t ord;
	struct item *loaded; /* rows from pos on */
	unsigned nloaded, at;
	struct item last; /* row done */
	bool begun;
};

struct items_tables {
	const struct reader *r; /* the model_file's */
	const struct items_query *q;
	struct item_table *v;
	unsigned n, room;
	struct items_col *cols; /* of the result */
	unsigned ncols;
	struct column_place at;
	bool grouped;
	int64_t *gaps; /* ns between rows of some tables */
	unsigned ngaps, sampled;
	unsigned others; /* of the series, without the column */
	struct cursor *cursor;
	struct reader_node *node, *before; /* the cursor may still be in the one before */
	void *names, *columns;		   /* trees of tsearch(3) */
};

/* All tables of the selection, by step. As items__open. */
int items_tables__find(struct items_tables *t);
/* Reads up to max rows from w->pos on to w->loaded, which has room for them. Periods are counted
 * from start_ns. A damaged table is reported, and ends where the damage begins. 0 or -ENOMEM. */
int items_tables__load(struct items_tables *t, struct item_table *w, unsigned max, int64_t start_ns,
		       int64_t period_ns);
void items_tables__free(struct items_tables *t);

#endif
