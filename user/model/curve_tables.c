/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks through the tables of a series, and gives each row its interval of time. */
#include "model/curve_tables.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "hdf5/cursor.h"

#define LATE 1.5 /* a first row that is so many intervals long began later than its step */

struct walk {
	struct curve_tables *t;
	int (*table)(void *ctx);
	void (*row)(void *ctx, const struct curve_row *row);
	void *ctx;
	const struct reader_node *node;
};

static double cell(const struct curve_tables *t, const union cell *row, int at)
{
	return at < 0 ? NAN : cell__number(row[at], t->cursor->cols[at].type);
}

static double time_of(const struct curve_tables *t, const union cell *row)
{
	double s = t->at.ns >= 0 ? cell(t, row, t->at.ns) / 1e9 : cell(t, row, t->at.epoch);

	return isnan(s) ? cell(t, row, t->at.elapsed) : s;
}

/* When the node's step started; NaN: the node does not say. */
static double said_start(const struct reader_node *n)
{
	int64_t ns;

	return reader_node__i64(n, "Start TimeNS", &ns) ? (double)ns / 1e9 : NAN;
}

/* When the table's step started. */
static double start_of(const struct curve_tables *t, const struct reader_node *n,
		       const union cell *row)
{
	double said = t->at.ns >= 0 ? said_start(n) : NAN;

	return isnan(said) ? time_of(t, row) - cell(t, row, t->at.elapsed) : said;
}

/* When the table's task started; NaN: the table does not say, or it is not true. */
static double task_start(const struct curve_tables *t, double first)
{
	int64_t ns;

	if (t->at.ns < 0 || !reader__i64(cursor__dataset(t->cursor), "Start TimeNS", &ns))
		return NAN;
	return (double)ns / 1e9 < first ? (double)ns / 1e9 : NAN;
}

/* A table that begins with its step or task has its first row since then; one that begins later, or
 * of which that is not known, has a first row as long as its second. Where the second is the last
 * it says nothing, as the end may have cut it short. */
static double first_begin(const struct curve_tables *t, const union cell *rows, unsigned n)
{
	unsigned stride = t->cursor->ncols;
	double first = time_of(t, rows), usual = n > 1 ? time_of(t, rows + stride) - first : NAN;
	double task = task_start(t, first), begin = fmax(t->start, task);

	if (n == 2 && !isnan(task))
		return begin;
	if (first - begin > LATE * usual || isnan(begin))
		return usual > 0 ? first - usual : first;
	return begin;
}

static void put_rows(struct walk *w, const union cell *rows, unsigned n, double *before)
{
	struct curve_tables *t = w->t;
	const struct cursor_column *col = &t->cursor->cols[t->at.value];

	for (unsigned i = 0; i < n; i++) {
		const union cell *cells = rows + (size_t)i * t->cursor->ncols;
		struct curve_row row = {*before, time_of(t, cells), NAN};

		if (!(row.to > row.from) || !isfinite(row.to))
			continue;
		row.value = col->unknown ? NAN : cell(t, cells, t->at.value);
		if (!isfinite(row.value))
			row.value = NAN;
		if (t->at.kind == COL_DELTA)
			row.value /= row.to - row.from;
		w->row(w->ctx, &row);
		*before = row.to;
	}
}

static int walk_rows(struct walk *w)
{
	struct curve_tables *t = w->t;
	double before = NAN;
	const union cell *rows;
	unsigned n;
	int got;

	while ((got = cursor__next(t->cursor, &rows, &n)) > 0) {
		if (isnan(before) && n) {
			t->start = start_of(t, w->node, rows);
			t->first_start = fmin(t->first_start, t->start);
			before = first_begin(t, rows, n);
		}
		put_rows(w, rows, n, &before);
	}
	return got;
}

static int walk_table(struct walk *w, const struct reader_series *s, const char *name)
{
	struct curve_tables *t = w->t;
	int err = cursor__open(t->cursor, w->node, s, name);

	t->has_series = true;
	if (!err)
		err = column_place__find(&t->at, t->q, t->cursor);
	if (!err && t->at.value < 0)
		err = -ENODATA;
	if (!err) {
		t->tables++;
		err = w->table ? w->table(w->ctx) : 0;
	}
	if (!err)
		err = walk_rows(w);
	if (err && err != -ENOMEM) {
		column_query__problem(t->q, w->node->step, w->node->name, s->grouped ? name : NULL,
				      err);
		err = 0;
	}
	return err;
}

static int walk_node(struct walk *w, const struct node_ref *ref)
{
	struct curve_tables *t = w->t;
	const struct reader_step *step = &t->r->steps[ref->step];
	struct reader_node *n = NULL;
	int err = reader__node(t->r, ref->step, ref->node, t->q->series, &n);
	const struct reader_series *s = err ? NULL : node__series(n, t->q->series);

	if (!err)
		t->first_start = fmin(t->first_start, said_start(n));
	if (err || !s) {
		if (err != -ENOMEM)
			column_query__problem(t->q, step->name, step->nodes.v[ref->node], NULL,
					      err ? err : -ENODATA);
		err = err == -ENOMEM ? err : 0;
	}
	w->node = n;
	for (unsigned i = 0; s && !err && i < s->tables.n; i++)
		if (!s->grouped || select__table(t->q->sel, s->tables.v[i]))
			err = walk_table(w, s, s->tables.v[i]);
	cursor__close(t->cursor);
	reader_node__free(n);
	return err;
}

int curve_tables__walk(struct curve_tables *t, int (*table)(void *ctx),
		       void (*row)(void *ctx, const struct curve_row *row), void *ctx)
{
	struct walk w = {t, table, row, ctx, NULL};
	struct node_ref *refs = NULL;
	unsigned n = 0;
	int err = select__nodes(t->r, t->q->sel, &refs, &n);

	t->tables = 0;
	for (unsigned i = 0; !err && i < n; i++)
		err = walk_node(&w, &refs[i]);
	free(refs);
	return err;
}
