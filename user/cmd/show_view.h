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
	double *end;	       /* calc__times */
	struct table *latency; /* NULL: none */
	double wall;	       /* s, NaN: not known */
};

struct view {
	const struct reader *r;
	const struct reader_node *n;
	struct view_task *tasks;
	unsigned ntasks;
	struct view_task step; /* .t NULL: no Step table */
	double wall;	       /* s: of the longest table */
	double task_cpus;      /* CPUs per Task, NaN: not known */
	double node_cpus;      /* Allocated CPUs, else CPUs per Task x tasks */
	double limit_mb;
};

/* Reads the node's tables. 0 or -errno; view__free in both cases. A view is zeroed before. */
int view__load(struct view *v, const struct reader *r, const struct reader_node *n);
void view__free(struct view *v);

/* CPU seconds as a share of what the allocation offered; NaN: not known. */
double view__efficiency(const struct view_task *t, double cpus);
/* Highest resident memory in MB. */
double view__peak_mb(const struct table *t);
/* Seconds our own programs took in all tasks. */
double view__probe_s(const struct view *v);
/* "batch" for 4294967291 and the like. */
const char *view__step_name(const char *step);

/* The pages. utf8 and width are of out. */
void show__page(const struct view *v, FILE *out, unsigned width, bool utf8);
json_t *show__json(const struct view *v);

#endif
