// SPDX-License-Identifier: GPL-2.0-only
/* Reads executions of regions and samples of threads, and brings them in order. */
#include "model/points.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jobprof.h"
#include "hdf5/hdf5.h"

#define ROWS_MAX  (8u << 20)
#define NAMES_MAX 100
#define EXACT	  9007199254740992.0 /* whole numbers up to here are */

const char *const point_counters[POINT_COUNTERS] = {"CPUTime", "PageFaults"};
const char *const point_units[POINT_COUNTERS] = {"s", ""};
static const double scales[POINT_COUNTERS] = {1e-9, 1};

static const double *column(const struct table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->names[i], name))
			return t->cells + i * t->nrows;
	return NULL;
}

/* The columns of a table by their names; false: one is missing. */
static bool columns(const struct table *t, const char *const *names, unsigned n, const double **out)
{
	for (unsigned i = 0; i < n; i++) {
		out[i] = column(t, names[i]);
		if (!out[i])
			return false;
	}
	return true;
}

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int by_thread(const struct thread_key *a, const struct thread_key *b)
{
	int order = compare(a->node, b->node);

	order = order ? order : compare(a->process, b->process);
	return order ? order : compare(a->thread, b->thread);
}

static int by_point(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = by_thread(&x->thread, &y->thread);

	return order ? order : compare(x->time_s, y->time_s);
}

static int by_begin(const void *a, const void *b)
{
	const struct region_row *x = a, *y = b;
	int order = by_thread(&x->thread, &y->thread);

	return order ? order : compare(x->begin_s, y->begin_s);
}

static void *grow_array(void *v, size_t have, size_t more, size_t size)
{
	return more > ROWS_MAX || have + more > ROWS_MAX ? NULL
							 : realloc(v, (have + more + 1) * size);
}

static bool is_number(double v)
{
	return v >= 0 && v <= EXACT;
}

static int take_points(struct points *p, const struct table *t, unsigned node)
{
	enum { TIME, PROCESS, THREAD, KIND, PLACE, TASK, COUNTS, ALL = COUNTS + POINT_COUNTERS };
	const char *names[ALL] = {"Time", "Process", "Thread", "Kind", "Place", "Task"};
	const double *c[ALL];
	struct point *more;

	for (int k = 0; k < POINT_COUNTERS; k++)
		names[COUNTS + k] = point_counters[k];
	if (!columns(t, names, ALL, c))
		return -EBADMSG;
	more = grow_array(p->points, p->npoints, t->nrows, sizeof(*more));
	if (!more)
		return t->nrows > ROWS_MAX ? -EMSGSIZE : -ENOMEM;
	p->points = more;
	for (uint64_t i = 0; i < t->nrows; i++) {
		struct point *to = &more[p->npoints];

		if (!is_number(c[TIME][i]) || !is_number(c[PROCESS][i]) ||
		    !is_number(c[THREAD][i]) || !is_number(c[PLACE][i]) || !(c[KIND][i] >= 0))
			continue;
		*to = (struct point){.thread = {node, c[PROCESS][i], c[THREAD][i]},
				     .time_s = c[TIME][i] * 1e-9,
				     .task = c[TASK][i]};
		to->kind = c[KIND][i] < JP_MODULES ? (unsigned)c[KIND][i] : JP_MODULE_UNKNOWN;
		to->place = (uint64_t)c[PLACE][i];
		for (int k = 0; k < POINT_COUNTERS; k++)
			to->count[k] = c[COUNTS + k][i] * scales[k];
		p->npoints++;
	}
	qsort(more, p->npoints, sizeof(*more), by_point);
	return 0;
}

/* The region of that name, which may be another's number on another node; -1: no memory. */
static int name_number(struct points *p, const char *name)
{
	char **more;

	for (unsigned i = 0; i < p->nnames; i++)
		if (!strcmp(p->names[i], name))
			return (int)i;
	more = realloc(p->names, (p->nnames + 1) * sizeof(*more));
	if (!more)
		return -1;
	p->names = more;
	more[p->nnames] = strdup(name);
	return more[p->nnames] ? (int)p->nnames++ : -1;
}

static int take_names(struct points *p, const struct reader_node *n, int *numbers)
{
	char attr[32];

	for (unsigned i = 1; i <= NAMES_MAX; i++) {
		const char *name;

		snprintf(attr, sizeof(attr), "Region %u", i);
		name = node__str(n, attr);
		numbers[i] = name ? name_number(p, name) : -1;
		if (name && numbers[i] < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Files have these columns where probes counted. */
static void take_counts(struct region_row *to, const struct table *t, uint64_t row)
{
	char name[64];

	for (int k = 0; k < POINT_COUNTERS; k++) {
		const double *begin, *end;

		snprintf(name, sizeof(name), "Begin%s", point_counters[k]);
		begin = column(t, name);
		snprintf(name, sizeof(name), "End%s", point_counters[k]);
		end = column(t, name);
		to->at_begin[k] = begin ? begin[row] * scales[k] : NAN;
		to->at_end[k] = end ? end[row] * scales[k] : NAN;
	}
}

static int take_regions(struct points *p, const struct reader_node *n, const struct table *t,
			unsigned node)
{
	enum { REGION, BEGIN, END, PROCESS, THREAD, ALL };
	static const char *const names[ALL] = {"Region", "Begin", "End", "Process", "Thread"};
	const double *c[ALL];
	int numbers[NAMES_MAX + 1];
	struct region_row *more;

	if (!columns(t, names, ALL, c))
		return -EBADMSG;
	if (take_names(p, n, numbers))
		return -ENOMEM;
	more = grow_array(p->regions, p->nregions, t->nrows, sizeof(*more));
	if (!more)
		return t->nrows > ROWS_MAX ? -EMSGSIZE : -ENOMEM;
	p->regions = more;
	for (uint64_t i = 0; i < t->nrows; i++) {
		double number = c[REGION][i];
		int region = number >= 1 && number <= NAMES_MAX ? numbers[(int)number] : -1;

		if (region < 0 || !is_number(c[BEGIN][i]) || !is_number(c[END][i]) ||
		    c[END][i] < c[BEGIN][i] || !is_number(c[PROCESS][i]) ||
		    !is_number(c[THREAD][i]))
			continue;
		more[p->nregions] =
			(struct region_row){.thread = {node, c[PROCESS][i], c[THREAD][i]},
					    .region = (unsigned)region,
					    .begin_s = c[BEGIN][i] * 1e-9,
					    .end_s = c[END][i] * 1e-9};
		take_counts(&more[p->nregions++], t, i);
	}
	qsort(more, p->nregions, sizeof(*more), by_begin);
	return 0;
}

static double losses(double before, const struct reader_node *n, const char *attr)
{
	double v;

	return before + (node__number(n, attr, &v) ? v : 0);
}

int points__read(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *points = node__series(n, "SamplePoints"),
				   *regions = node__series(n, "Regions");
	struct table *t = NULL;
	int err = points || regions ? 0 : -ENOENT;

	if (points)
		err = reader__table(n, points, points->name, &t);
	if (!err && points)
		err = take_points(p, t, number);
	table__free(t);
	t = NULL;
	if (!err && regions)
		err = reader__table(n, regions, regions->name, &t);
	if (!err && regions)
		err = take_regions(p, n, t, number);
	table__free(t);
	p->lost_points = losses(p->lost_points, n, "Lost Points");
	p->lost_regions = losses(p->lost_regions, n, "Lost Regions");
	return err;
}

void points__free(struct points *p)
{
	for (unsigned i = 0; i < p->nnames; i++)
		free(p->names[i]);
	free(p->names);
	free(p->points);
	free(p->regions);
	*p = (struct points){0};
}
