// SPDX-License-Identifier: GPL-2.0-only
/* When the threads that have samples woke up: the tables of Bursts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/cursor.h"
#include "hdf5/hdf5.h"
#include "model/points.h"

#define BURSTS_OF_SAMPLE 16 /* that are read where there is room for so many samples */

static int by_thread(const void *a, const void *b)
{
	const struct point_burst *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_s < y->begin_s ? -1 : x->begin_s > y->begin_s;
}

enum { TIME, THREAD, DURATION, GAP, COLUMNS };

static bool find_columns(const struct cursor *c, int *at)
{
	static const char *const names[COLUMNS] = {"TimeNS", "Thread", "Duration", "Gap"};

	for (int k = 0; k < COLUMNS; k++) {
		at[k] = cursor__column(c, names[k]);
		if (at[k] < 0)
			return false;
	}
	return true;
}

static void add_row(struct points *p, const struct cursor *c, const union cell *row, const int *at,
		    unsigned node)
{
	double v[COLUMNS], end_s;

	for (int k = 0; k < COLUMNS; k++)
		v[k] = c->cols[at[k]].unknown ? NAN : cell__number(row[at[k]], c->cols[at[k]].type);
	end_s = (v[TIME] - p->clock_ns) / 1e9;
	if (isfinite(end_s) && v[DURATION] >= 0 && isfinite(v[THREAD]))
		p->bursts[p->nbursts++] = (struct point_burst){.node = node,
							       .thread = v[THREAD],
							       .begin_s = end_s - v[DURATION],
							       .gap_s = v[GAP]};
}

static int add_rows(struct points *p, struct cursor *c, unsigned node)
{
	const size_t most = p->rows_max ? p->rows_max * BURSTS_OF_SAMPLE : POINT_ROWS_MAX;
	struct point_burst *more;
	const union cell *rows;
	int at[COLUMNS], err;
	unsigned n;

	if (!find_columns(c, at))
		return 0;
	if (c->nrows > most || p->nbursts + c->nrows > most)
		return -EMSGSIZE;
	more = realloc(p->bursts, (p->nbursts + c->nrows + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->bursts = more;
	while ((err = cursor__next(c, &rows, &n)) > 0)
		for (unsigned i = 0; i < n; i++)
			add_row(p, c, rows + (size_t)i * c->ncols, at, node);
	return err;
}

static void drop_bursts(struct points *p)
{
	free(p->bursts);
	p->bursts = NULL;
	p->nbursts = 0;
	p->many_bursts = true;
}

int points__read_bursts(struct points *p, const struct reader_node *n, unsigned number)
{
	const struct reader_series *s = node__series(n, "Bursts");
	size_t before = p->nbursts;
	struct cursor *c = NULL;
	double steps;
	int err;

	if (!s || !s->grouped || p->many_bursts || isnan(p->clock_ns))
		return 0;
	if (node__number(n, "Clock Steps", &steps) && steps > 0)
		return 0; /* the wall clock does not tell when they were */
	err = cursor__new(&c);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		err = cursor__open(c, n, s, s->tables.v[i]);
		if (!err)
			err = add_rows(p, c, number);
	}
	cursor__free(c);
	if (err == -EMSGSIZE) {
		drop_bursts(p);
		return 0;
	}
	if (p->nbursts > before)
		qsort(p->bursts + before, p->nbursts - before, sizeof(*p->bursts), by_thread);
	return err;
}
