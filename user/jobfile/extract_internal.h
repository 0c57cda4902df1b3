/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of extraction share. */
#ifndef JP_JOBFILE_EXTRACT_INTERNAL_H
#define JP_JOBFILE_EXTRACT_INTERNAL_H

#include "hdf5/cursor.h"
#include "base/progress.h"
#include "jobfile/extract.h"
#include "jobfile/extract_plan.h"

struct totals;
struct helpers;

/* One series on its way. */
struct extraction {
	struct progress progress;
	const struct extract_options *opt;
	const char *path;
	int fd;			 /* of the file */
	struct helpers *helpers; /* NULL: none were called */
	struct reader *r;
	struct cursor *cursor;
	struct selection sel;
	struct number_range one; /* the task the series was named with */
	const char *wanted;	 /* the series as it was named */
	bool last;		 /* of them */
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
	bool grouped;
	struct plan_names plan;	  /* the columns that are written */
	struct plan_names header; /* of what sh5util makes of them */
	/* Where the columns of the plan are in the tables of this shape. */
	unsigned shape;
	bool unknowns; /* some columns of the table are not known */
	struct text_col *cols;
	struct time_filter filter;
	struct totals *totals;
	struct text text;
	struct unit_of {
		char *column, *unit;
	} * units; /* of all columns that were looked at */
	unsigned nunits;
	struct text_names marks; /* of the node at hand */
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

/* With the option, the units of the table that the cursor stands at, one of `series`, are kept
 * while columns are looked at, and go into the header. 0 or -ENOMEM. */
int extract__learn_units(struct extraction *x, const struct cursor *c, const char *series);
int extract__lay_out_units(struct extraction *x);
void extract__forget_units(struct extraction *x);

/* A column of numbers that stand for texts, which each node has its own of. 0 or -ENOMEM. */
bool extract__is_marks(const struct extraction *x, const char *column);
int extract__load_marks(struct extraction *x, const struct reader_node *n);
void extract__forget_marks(struct extraction *x);

/* Totals. The cursor stands at a table. */
int totals__new(struct totals **out);
void totals__free(struct totals *t);
int totals__stock(struct extraction *x, const char *node, const char *step, const char *table);
int totals__computed(struct extraction *x, const char *node, const char *step, const char *table);
/* Reads the stored totals of a node's series where they can be used. */
int totals__load(struct extraction *x, const struct node_ref *ref, const struct reader_series *s);
/* From them: 1, 0: it is not among them, or what ends the whole. */
int totals__stored(struct extraction *x, const char *node, const char *step, const char *table);

/* Opens the file, which x->fd is. What reader__open fails with, or -ENOMEM; nothing is logged. */
int extract__begin(struct extraction *x);
/* The nodes of a series, which has no columns yet. 0; -EINVAL: it cannot be one; -ENOMEM. */
int extract__prepare(struct extraction *x, const char *series);
/* The columns of all tables, or of the first one. 0, or what ends the whole. */
int extract__look(struct extraction *x, bool first_only);
/* Those that are written; with first_only, where the output can be begun again, the first table's
 * do for now. What is missing is named. 0, or what ends the whole. */
int extract__plan(struct extraction *x, bool first_only);
/* With these columns to out; blank comes before the header. 0 or -ENOMEM. */
int extract__lay_out(struct extraction *x, struct outbuf *out, const char *blank);

/* Helpers, as many as are wanted and of use, unless they are there; they open the file themselves.
 * 0; -ECHILD, which is logged; -ENOMEM. */
int extract__call_helpers(struct extraction *x);
/* Whether all nodes are to be written with them. */
bool extract__helped(const struct extraction *x);
/* All nodes of the series, in order. Whatever goes wrong, no helper is left. */
int extract__together(struct extraction *x);
/* Well: they have done all they were told to. */
void extract__dismiss_helpers(struct extraction *x, bool well);

#endif
