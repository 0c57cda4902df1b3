/* SPDX-License-Identifier: GPL-2.0-only */
/* One node of a file with its tables in memory, as the text and the JSON page need it. */
#ifndef JP_MODEL_NODE_H
#define JP_MODEL_NODE_H

#include <jansson.h>
#include <stdio.h>

#include "base/escape.h"
#include "model/column_stats.h"

struct view_task {
	const char *name;
	struct table *t;
	double *end; /* calc__times */
	struct view_beside {
		struct table *t; /* NULL: none */
	} * beside;		 /* of its name, in each of builtin_series */
	double wall;		 /* s, until its last process ended; NaN: not known */
};

struct view {
	const struct reader *r;
	struct reader_node *n;
	struct view_task *tasks;
	unsigned ntasks;
	struct view_task step; /* .t NULL: no Step table */
	double wall;	       /* s: of the longest table */
	double task_cpus;      /* CPUs per Task, NaN: not known */
	double node_cpus;      /* Allocated CPUs, else CPUs per Task x tasks */
	double limit_mb;
	bool all; /* the page has what it usually leaves out */
};

/* Reads a node of a step with its tables. 0 or -errno; view__free in both cases. */
int view__load(struct view *v, const struct reader *r, unsigned step, unsigned node);
void view__free(struct view *v);

/* What a page says of columns: see schemas/show.def. */
enum show_how {
	BY_SUM,
	BY_MAX,
	BY_MEAN,
	BY_LAST,
	BY_RATIO,
	BY_OF_CPUS,
	BY_HIGHEST,
	BY_OF_LIMIT,
	BY_WALL,
};
enum { SOME = 1, WITH = 2, ELSE = 4, RATE = 8 };

/* One number out of a task's table, or the step's; NaN: not known. */
double view__value(const struct view *v, const struct view_task *t, enum show_how how,
		   const char *column, const char *by);
/* Sums of the buckets of a prefix in the task's table of a series, less those of another prefix (0:
 * none). Returns how many values there are in all; NaN: no such table. */
double view__histogram(const struct view_task *t, const char *series, char prefix, char less,
		       double counts[JP_LAT_BUCKETS]);
/* A column's family, 0: not known. Counters have names of their own: a column that the schema does
 * not have is one if it stands before PerfRunning, not farther than there can be counters, with
 * nothing else of the schema between. */
enum family view__family(const struct table *t, unsigned column);
/* The family's attribute Mode, or NULL. */
const char *view__mode(const struct view *v, enum family family);
/* Seconds our own programs took in all tasks. */
double view__probe_s(const struct view *v);

/* The series is none of those that a page is made of. */
bool view__is_other(const struct reader_series *s);
/* Calls fn with each table of the other series; of those that cannot be read t is NULL. */
void view__each_other(const struct view *v,
		      void (*fn)(const struct reader_series *s, const struct view_task *t,
				 void *arg),
		      void *arg);

#define VIEW_LABEL 12 /* columns of the page before the text of a line */
#define VIEW_WIDTH 80 /* of text; sparklines take the terminal's */

/* The lines about a task, or about the step, which has those of its tasks too if it is their sum:
 * when there is not just one. */
void show__lines(const struct view *v, const struct view_task *t, FILE *out);
/* Their last one: the columns that have no line of their own. */
void show__other_columns(const struct view *v, const struct view_task *t, FILE *out);
/* The tables of the other series. */
void show__other_series(const struct view *v, FILE *out);
/* The line on energy, if the step has any. */
void show__energy(const struct view *v, FILE *out);
/* What qualifies the numbers: modes, losses, what is unknown, our own cost. */
void show__notes(const struct view *v, FILE *out);
void show__marks(const struct view *v, FILE *out);
/* An attribute's value. */
void show__attr(const struct reader_attr *a, FILE *out);

/* The pages. utf8 and width are of out. */
void show__page(const struct view *v, FILE *out, unsigned width, bool utf8);
json_t *show__json(const struct view *v);

#endif
