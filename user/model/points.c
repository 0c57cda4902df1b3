/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads executions of regions and samples of threads, and brings them in order. */
#include "model/points.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/str.h"
#include "bpf/jobprof.h"
#include "hdf5/hdf5.h"

/* ---- where a thread did not run: ticks of the clock that took no sample of it */

#define TICK_S	   (1.0 / JP_SAMPLE_HZ) /* in the mean */
#define TICK_MOST  1.5			/* of that, either way */
#define CHANGED_S  0.25			/* then it is another */
#define LATE	   0.1			/* of a tick, that the clock may be late */
#define OFF_LEAST  0.02 /* of a tick: less time off the CPU, and a sample was lost */
#define PERIOD_MAX 10.0 /* seconds between samples of one loop, where no region is named */
#define TICKS_MAX  1e5	/* between two samples; longer ones are left as they are */

struct gaps {
	const struct points *p;
	size_t region;	/* the next */
	double until_s; /* the thread is in a region */
	struct point *out;
	size_t n;
};

/* Threads and their instants come in order. */
static bool is_inside(struct gaps *g, const struct thread_key *thread, double at_s)
{
	for (; g->region < g->p->nregions; g->region++) {
		const struct region_row *r = &g->p->regions[g->region];
		int order = thread_key__cmp(&r->thread, thread);

		if (order > 0 || (!order && r->begin_s > at_s))
			break;
		if (!order)
			g->until_s = fmax(g->until_s, r->end_s);
	}
	return at_s < g->until_s;
}

/* The clock's period from a on, as far as that is known, for so long. */
static double tick_of(const struct point *a, double wall)
{
	bool known = wall <= CHANGED_S && a->period_s <= TICK_MOST * TICK_S &&
		     a->period_s >= TICK_S / TICK_MOST;

	return known ? a->period_s : TICK_S;
}

/* A thread may go on by another CPU's clock: what is less than a tick before b may have run. A
 * thread that ran all the time has lost samples. */
static void add_gap(struct gaps *g, const struct point *a, const struct point *b)
{
	double wall = b->time_s - a->time_s;
	double off = wall - (b->count[POINT_CPU_TIME] - a->count[POINT_CPU_TIME]);
	double tick_s = tick_of(a, wall);
	double ticks = floor(wall / tick_s - 1 + LATE);
	bool near = !g->p->nregions && wall <= PERIOD_MAX;

	if (!(ticks >= 1 && ticks <= TICKS_MAX) || !(off >= ((ticks - 1) / 2 + OFF_LEAST) * tick_s))
		return;
	for (unsigned k = 1; k <= (unsigned)ticks; k++) {
		double at_s = a->time_s + k * tick_s;

		if (!near && !is_inside(g, &a->thread, at_s))
			continue;
		if (g->out)
			g->out[g->n] = (struct point){.thread = a->thread,
						      .time_s = at_s,
						      .task = a->task,
						      .kind = POINT_NOT_RUNNING,
						      .count = {NAN, NAN, NAN}};
		g->n++;
	}
}

/* All points again, with those of gaps; without out: only how many. */
static size_t fill(const struct points *p, struct point *out)
{
	struct gaps g = {.p = p, .out = out};

	for (size_t i = 0; i < p->npoints; i++) {
		const struct point *now = &p->points[i];
		bool first = !i || thread_key__cmp(&now[-1].thread, &now->thread);

		if (first)
			g.until_s = -INFINITY;
		else
			add_gap(&g, &now[-1], now);
		if (out)
			out[g.n] = *now;
		g.n++;
	}
	return g.n;
}

int points__fill_gaps(struct points *p)
{
	size_t n = fill(p, NULL);
	struct point *all;

	if (p->by_cycles || n == p->npoints || n > POINT_ROWS_MAX)
		return 0;
	all = calloc(n, sizeof(*all));
	if (!all)
		return -ENOMEM;
	fill(p, all);
	free(p->points);
	p->points = all;
	p->npoints = n;
	return 0;
}

#define NAMES_MAX 100
#define EXACT	  9007199254740992.0 /* whole numbers up to here are */

const char *const point_counters[POINT_FIXED] = {"CPUTime", "PageFaults"};
const char *const point_units[POINT_COUNTERS] = {"s", "", ""};
const char *const point_kinds[POINT_NOT_RUNNING + 1] = {
	[JP_MODULE_OWN] = "the program",
	[JP_MODULE_MPI] = "MPI",
	[JP_MODULE_LIBGPU] = "GPU library",
	[JP_MODULE_BLAS] = "BLAS",
	[JP_MODULE_OPENMP] = "OpenMP",
	[JP_MODULE_INTERPRETER] = "interpreter",
	[JP_MODULE_LIBC] = "C library",
	[JP_MODULE_LIBRARY] = "library",
	[JP_MODULE_GENERATED] = "generated code",
	[JP_MODULE_KERNEL] = "kernel",
	[JP_MODULE_UNKNOWN] = "unknown code",
	[POINT_NOT_RUNNING] = "not running",
};
/* Of the table's columns those that count nothing. */
static const char *const no_events[] = {"Time",	  "TimeNS", "EpochTime", "ElapsedTime", "Process",
					"Thread", "Kind",   "Place",	 "Task",	"Period"};
static const double scales[POINT_FIXED] = {1e-9, 1};

/* The columns of a table by their names; false: one is missing. */
static bool columns(const struct table *t, const char *const *names, unsigned n, const double **out)
{
	for (unsigned i = 0; i < n; i++) {
		out[i] = table__column(t, names[i]);
		if (!out[i])
			return false;
	}
	return true;
}

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

int thread_key__cmp(const struct thread_key *a, const struct thread_key *b)
{
	int order = compare(a->node, b->node);

	order = order ? order : compare(a->process, b->process);
	return order ? order : compare(a->thread, b->thread);
}

static int by_point(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int order = thread_key__cmp(&x->thread, &y->thread);

	return order ? order : compare(x->time_s, y->time_s);
}

static int by_begin(const void *a, const void *b)
{
	const struct region_row *x = a, *y = b;
	int order = thread_key__cmp(&x->thread, &y->thread);

	return order ? order : compare(x->begin_s, y->begin_s);
}

static void *grow_array(void *v, size_t have, size_t more, size_t size)
{
	return more > POINT_ROWS_MAX || have + more > POINT_ROWS_MAX
		       ? NULL
		       : realloc(v, (have + more + 1) * size);
}

static bool is_number(double v)
{
	return v >= 0 && v <= EXACT;
}

/* A counter of 64 bits in its unit; NAN: no such counter says that. */
static double count_of(double v, double scale)
{
	return v >= 0 && v < 0x1p64 ? v * scale : NAN;
}

/* The column of an event; NULL: there is none of that name. */
static const double *event_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < sizeof(no_events) / sizeof(*no_events); i++)
		if (!strcmp(name, no_events[i]))
			return NULL;
	return table__column(t, name);
}

static int take_points(struct points *p, const struct table *t, unsigned node)
{
	enum { TIME, PROCESS, THREAD, KIND, PLACE, TASK, COUNTS, ALL = COUNTS + POINT_FIXED };
	const char *names[ALL] = {"Time", "Process", "Thread", "Kind", "Place", "Task"};
	const double *period = table__column(t, "Period");
	const double *event = p->event ? event_column(t, p->event) : NULL;
	const double *c[ALL], *time = table__column(t, "TimeNS");
	struct point *more;
	size_t before = p->npoints;

	for (int k = 0; k < POINT_FIXED; k++)
		names[COUNTS + k] = point_counters[k];
	if (!columns(t, names, ALL, c))
		return -EBADMSG;
	more = grow_array(p->points, p->npoints, t->nrows, sizeof(*more));
	if (!more)
		return t->nrows > POINT_ROWS_MAX ? -EMSGSIZE : -ENOMEM;
	p->points = more;
	p->has_event |= event != NULL;
	p->clock_ns = time && t->nrows ? time[0] - c[TIME][0] : NAN;
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
		to->period_s = period ? period[i] * 1e-9 : NAN;
		for (int k = 0; k < POINT_FIXED; k++)
			to->count[k] = count_of(c[COUNTS + k][i], scales[k]);
		to->count[POINT_EVENT] = event ? count_of(event[i], 1) : NAN;
		p->npoints++;
	}
	if (before && more[before - 1].thread.node < node)
		qsort(more + before, p->npoints - before, sizeof(*more), by_point);
	else
		qsort(more, p->npoints, sizeof(*more), by_point);
	return t->nrows && p->npoints == before ? -EBADMSG : 0;
}

/* The region of that name, which may be another's number on another node; -1: no memory. */
static int name_number(struct points *p, const char *name)
{
	for (unsigned i = 0; i < p->nnames; i++)
		if (!strcmp(p->names[i], name))
			return (int)i;
	if (room__grow(&p->names, p->nnames, 1, sizeof(*p->names)))
		return -1;
	p->names[p->nnames] = strdup(name);
	return p->names[p->nnames] ? (int)p->nnames++ : -1;
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

/* The columns of what was counted at a bound of executions; NULL: no probe counted there. */
static void find_counts(const struct table *t, const char *bound, const double **out)
{
	char name[64];

	for (int k = 0; k < POINT_FIXED; k++) {
		snprintf(name, sizeof(name), "%s%s", bound, point_counters[k]);
		out[k] = table__column(t, name);
	}
}

static void take_counts(double *to, const double *const *counts, uint64_t row)
{
	to[POINT_EVENT] = NAN;
	for (int k = 0; k < POINT_FIXED; k++)
		to[k] = counts[k] ? count_of(counts[k][row], scales[k]) : NAN;
}

static int take_regions(struct points *p, const struct reader_node *n, const struct table *t,
			unsigned node)
{
	enum { REGION, BEGIN, END, PROCESS, THREAD, ALL };
	static const char *const names[ALL] = {"Region", "Begin", "End", "Process", "Thread"};
	const double *time = table__column(t, "TimeNS"), *c[ALL], *at_begin[POINT_FIXED],
		     *at_end[POINT_FIXED];
	int numbers[NAMES_MAX + 1];
	struct region_row *more;

	if (!columns(t, names, ALL, c))
		return -EBADMSG;
	if (take_names(p, n, numbers))
		return -ENOMEM;
	more = grow_array(p->regions, p->nregions, t->nrows, sizeof(*more));
	if (!more)
		return t->nrows > POINT_ROWS_MAX ? -EMSGSIZE : -ENOMEM;
	p->regions = more;
	find_counts(t, "Begin", at_begin);
	find_counts(t, "End", at_end);
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
					    .end_s = c[END][i] * 1e-9,
					    .end_ns = time ? time[i] : NAN};
		take_counts(more[p->nregions].at_begin, at_begin, i);
		take_counts(more[p->nregions++].at_end, at_end, i);
	}
	qsort(more, p->nregions, sizeof(*more), by_begin);
	return 0;
}

static double losses(double before, const struct reader_node *n, const char *attr)
{
	double v;

	return before + (node__number(n, attr, &v) ? v : 0);
}

static bool is_by_cycles(const struct reader_node *n)
{
	const struct reader_attr *mode = node__attr(n, "Mode fold");

	return mode && mode->type == ATTR_STR && str__starts(mode->str, "sampled: by cycles");
}

/* Before a table is read that is larger than is wanted. */
static int check_size(const struct points *p, const struct reader_node *n,
		      const struct reader_series *s)
{
	struct cursor *c = NULL;
	int err = p->rows_max ? cursor__new(&c) : 0;

	if (!err && c)
		err = cursor__open(c, n, s, s->name);
	if (!err && c && p->npoints + c->nrows > p->rows_max)
		err = -EMSGSIZE;
	cursor__free(c);
	return err;
}

int points__read_samples(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *s = node__series(n, "SamplePoints");
	struct table *t = NULL;
	int err = s ? check_size(p, n, s) : -ENOENT;

	p->clock_ns = NAN;
	if (!err)
		err = reader__table(n, s, s->name, &t);
	if (!err)
		err = take_points(p, t, number);
	table__free(t);
	p->by_cycles |= is_by_cycles(n);
	p->lost_points = losses(p->lost_points, n, "Lost Points");
	return err;
}

int points__read(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *regions = node__series(n, "Regions");
	struct table *t = NULL;
	int err = points__read_samples(p, n, number);

	if (err == -ENOENT && regions)
		err = 0;
	if (!err && regions)
		err = reader__table(n, regions, regions->name, &t);
	if (!err && regions)
		err = take_regions(p, n, t, number);
	table__free(t);
	p->lost_regions = losses(p->lost_regions, n, "Lost Regions");
	return err;
}

void points__free(struct points *p)
{
	for (unsigned i = 0; i < p->nnames; i++)
		free(p->names[i]);
	for (unsigned i = 0; i < p->nfunctions; i++)
		free(p->functions[i]);
	free(p->names);
	free(p->functions);
	free(p->points);
	free(p->regions);
	free(p->bursts);
	*p = (struct points){0};
}
