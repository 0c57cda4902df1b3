/* SPDX-License-Identifier: GPL-2.0-only */
/* One node of a file with its tables in memory, as the text and the JSON page need it. */
#ifndef JP_CMD_SHOW_VIEW_H
#define JP_CMD_SHOW_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "base/escape.h"
#include "cmd/show_calc.h"

struct view_task {
	const char *name;
	struct table *t;
	double *end;		    /* calc__times */
	struct table *latency;	    /* RunLatency; NULL: none */
	struct table *blk;	    /* BlkLatency; NULL: none */
	const struct table *totals; /* its series in Totals; NULL: none */
	double wall;		    /* s, NaN: not known */
};

struct view {
	const struct reader *r;
	struct reader_node *n;
	struct view_task *tasks;
	unsigned ntasks;
	struct view_task step;	 /* .t NULL: no Step table */
	struct table *totals[2]; /* of Tasks and Step */
	double wall;		 /* s: of the longest table */
	double task_cpus;	 /* CPUs per Task, NaN: not known */
	double node_cpus;	 /* Allocated CPUs, else CPUs per Task x tasks */
	double limit_mb;
};

/* Reads a node of a step with its tables. 0 or -errno; view__free in both cases. */
int view__load(struct view *v, const struct reader *r, unsigned step, unsigned node);
void view__free(struct view *v);

/* CPU seconds as a share of what the allocation offered; NaN: not known. */
double view__efficiency(const struct view_task *t, double cpus);
/* What a column is: Totals tells it, else the schema by the name. */
enum col_kind view__kind(const struct view_task *t, const char *column);
/* A column's family, 0: not known. Counters have names of their own: a column that the schema does
 * not have is one if it stands before PerfRunning, not farther than there can be counters, with
 * nothing else of the schema between. */
enum family view__family(const struct table *t, unsigned column);
/* The family's attribute Mode, or NULL. */
const char *view__mode(const struct view *v, enum family family);
/* Of requests in a table of BlkLatency: 'R' reads, 'W' writes, 'B' both; returns how many. */
double view__requests(const struct table *blk, char what, double counts[JP_LAT_BUCKETS]);
/* Highest resident memory in MB. */
double view__peak_mb(const struct table *t);
/* Seconds our own programs took in all tasks. */
double view__probe_s(const struct view *v);

#define VIEW_LABEL 12 /* columns of the page before the text of a line */
#define VIEW_WIDTH 80 /* of text; sparklines take the terminal's */

/* The lines about a task, or about the step, which has those of its tasks too if it is their sum:
 * when there is not just one. */
void show__lines(const struct view *v, const struct view_task *t, FILE *out);
/* What qualifies the numbers: modes, losses, what is unknown, our own cost. */
void show__notes(const struct view *v, FILE *out);
/* An attribute's value. */
void show__attr(const struct reader_attr *a, FILE *out);

/* The pages. utf8 and width are of out. */
void show__page(const struct view *v, FILE *out, unsigned width, bool utf8);
json_t *show__json(const struct view *v);

#endif
