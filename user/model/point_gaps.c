// SPDX-License-Identifier: GPL-2.0-only
/* Where a thread did not run: ticks of the clock that took no sample of it. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/jobprof.h"
#include "model/points.h"

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
