/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of extraction share. */
#ifndef JP_STORE_EXTRACT_INTERNAL_H
#define JP_STORE_EXTRACT_INTERNAL_H

#include "store/cursor.h"
#include "base/progress.h"
#include "store/extract.h"
#include "store/extract_plan.h"

struct totals;

/* One series on its way. */
struct extraction {
	struct progress progress;
	const struct extract_options *opt;
	const char *path;
	struct reader *r;
	struct cursor *cursor;
	struct selection sel;
	struct number_range one; /* the task the series was named with */
	char series[256];
	struct node_ref *refs;
	unsigned nrefs;
	bool looking; /* for columns only, nothing is written */
	bool glance;  /* the same, and those of one table will do */
	/* The node it was found in, and the table the cursor is at: they are the first to be read.
	 */
	struct reader_node *held;
	unsigned held_ref;
	const char *held_table;
	bool fixed; /* the columns stand: a table that has others is -EAGAIN */
	bool grouped;
	struct plan_names plan;
	/* Where the columns of the plan are in the tables of this shape. */
	unsigned shape;
	bool unknowns; /* some columns of the table are not known */
	struct text_col *cols;
	struct time_filter filter;
	struct totals *totals;
	struct text text;
	struct extract_result result;
	uint8_t *lacks; /* per ref: the node does not have the series */
	uint8_t *found; /* per range of sel.tasks: some table is in it */
};

/* One node: all its tables that are meant. What cannot be read is logged and counted; 0, or what
 * ends the whole: -EAGAIN, -EMSGSIZE, -ENOMEM. */
int extract__node(struct extraction *x, unsigned ref);
/* Lets go of the node that is held, before its reader is freed. */
void extract__release(struct extraction *x);
/* Names the table (NULL: the node) and why it cannot be read. 0, or err where it ends the whole. */
int extract__damaged(struct extraction *x, const struct node_ref *ref, const char *table, int err);
const char *extract__step(const struct extraction *x, unsigned step);

/* Folds the names of a table's columns into the plan, or finds where the plan's columns are in it
 * and whether they are known. names and cols describe a row of the output's kind. */
int extract__map(struct extraction *x, char *const *names, const struct text_col *cols, unsigned n);

/* Totals. The cursor stands at a table. */
int totals__new(struct totals **out);
void totals__free(struct totals *t);
int totals__stock(struct extraction *x, const char *node, const char *step, const char *table);
int totals__computed(struct extraction *x, const char *node, const char *step, const char *table);
/* Reads the stored totals of a node's series where they can be used. */
int totals__load(struct extraction *x, const struct node_ref *ref, const struct reader_series *s);
/* From them: 1, 0: it is not among them, or what ends the whole. */
int totals__stored(struct extraction *x, const char *node, const char *step, const char *table);

/* All nodes with the help of other processes, in order. */
int extract__parallel(struct extraction *x, unsigned nprocs);

#endif
