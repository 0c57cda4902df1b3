// SPDX-License-Identifier: GPL-2.0-only
/* When the threads that have samples woke up: the tables of Bursts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/hdf5.h"
#include "model/points.h"

static int by_thread(const void *a, const void *b)
{
	const struct point_burst *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

static int add_rows(struct points *p, const struct table *t, unsigned node)
{
	enum { TIME, THREAD, DURATION, GAP, ALL };
	static const char *const names[ALL] = {"TimeNS", "Thread", "Duration", "Gap"};
	struct point_burst *more;
	const double *c[ALL];

	for (int k = 0; k < ALL; k++) {
		c[k] = table__column(t, names[k]);
		if (!c[k])
			return 0;
	}
	if (t->nrows > POINT_ROWS_MAX || p->nbursts + t->nrows > POINT_ROWS_MAX)
		return -EMSGSIZE;
	more = realloc(p->bursts, (p->nbursts + t->nrows + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->bursts = more;
	for (uint64_t i = 0; i < t->nrows; i++) {
		double end_s = (c[TIME][i] - p->clock_ns) / 1e9;

		if (isfinite(end_s) && c[DURATION][i] >= 0 && isfinite(c[THREAD][i]))
			more[p->nbursts++] = (struct point_burst){
				.node = node,
				.thread = c[THREAD][i],
				.begin_s = end_s - c[DURATION][i],
				.gap_s = c[GAP][i],
			};
	}
	return 0;
}

int points__read_bursts(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *s = node__series(n, "Bursts");
	struct table *t = NULL;
	double steps;
	int err = 0;

	if (node__number(n, "Clock Steps", &steps) && steps > 0)
		return 0; /* the wall clock does not tell when they were */
	for (unsigned i = 0; !err && s && s->grouped && i < s->tables.n && !isnan(p->clock_ns);
	     i++) {
		err = reader__table(n, s, s->tables.v[i], &t);
		if (!err)
			err = add_rows(p, t, number);
		table__free(t);
		t = NULL;
	}
	if (p->nbursts)
		qsort(p->bursts, p->nbursts, sizeof(*p->bursts), by_thread);
	return err;
}
