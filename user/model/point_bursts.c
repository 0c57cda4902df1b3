// SPDX-License-Identifier: GPL-2.0-only
/* When the threads that have samples woke up: the tables of Bursts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5.h"
#include "model/points.h"

#define OF_SAMPLE 20 /* bursts that are read, of each sample that may be */

enum { TIME, THREAD, DURATION, GAP, COLUMNS };
static const char *const names[COLUMNS] = {"TimeNS", "Thread", "Duration", "Gap"};

static int by_thread(const void *a, const void *b)
{
	const struct point_burst *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

/* Room for n more. */
static int make_room(struct points *p, unsigned n)
{
	size_t max = p->rows_max ? OF_SAMPLE * p->rows_max : POINT_ROWS_MAX;
	struct point_burst *more;

	if (p->nbursts + n > max)
		return -EMSGSIZE;
	more = realloc(p->bursts, (p->nbursts + n) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->bursts = more;
	return 0;
}

static void add_burst(struct points *p, unsigned node, const double *v)
{
	double end_s = (v[TIME] - p->clock_ns) / 1e9;

	if (isfinite(end_s) && v[DURATION] >= 0 && isfinite(v[THREAD]))
		p->bursts[p->nbursts++] = (struct point_burst){
			.node = node,
			.thread = v[THREAD],
			.begin_s = end_s - v[DURATION],
			.gap_s = v[GAP],
		};
}

/* A table without one of the columns has no bursts. */
static int read_table(struct points *p, struct cursor *c, unsigned node)
{
	const union cell *rows;
	int at[COLUMNS], got, err = 0;
	unsigned n;

	for (int k = 0; k < COLUMNS; k++) {
		at[k] = cursor__column(c, names[k]);
		if (at[k] < 0)
			return 0;
	}
	while (!err && (got = cursor__next(c, &rows, &n)) != 0) {
		err = got < 0 ? got : make_room(p, n);
		for (unsigned i = 0; !err && i < n; i++) {
			double v[COLUMNS];

			for (int k = 0; k < COLUMNS; k++)
				v[k] = cell__number(rows[(size_t)i * c->ncols + (unsigned)at[k]],
						    c->cols[at[k]].type);
			add_burst(p, node, v);
		}
	}
	return err;
}

int points__read_bursts(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *s = node__series(n, "Bursts");
	struct cursor *c = NULL;
	double steps;
	int err;

	if (!s || !s->grouped || isnan(p->clock_ns) ||
	    (node__number(n, "Clock Steps", &steps) && steps > 0))
		return 0; /* or the wall clock does not tell when they were */
	err = cursor__new(&c);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		err = err ? err : read_table(p, c, number);
	}
	if (c)
		cursor__free(c);
	if (p->nbursts)
		qsort(p->bursts, p->nbursts, sizeof(*p->bursts), by_thread);
	return err;
}
