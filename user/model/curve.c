/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a curve from the rows of one or of many tables. */
#include "model/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/cursor.h"
#include "hdf5/hdf5.h"

/* A row: from, to: seconds of unix time, or since the step's start where that is all a table has.
 */
struct curve_row {
	double from, to, value; /* NaN: not known */
};

struct curve_tables {
	const struct reader *r; /* the model_file's */
	const struct column_query *q;
	struct cursor *cursor;
	struct column_place at;
	unsigned tables; /* that were called so far */
	bool has_series;
	double first_start; /* of all chosen steps; NaN: no start is known */
	double start;	    /* of the step of the table at hand; NaN: not known */
};

/* ---- walks through the tables of a series, and gives each row its interval of time */

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

/* Calls table() for each table that has the column, and in it row() for each row that has a time.
 * 0; what a call returned; -EBADMSG of a damaged table goes to q->problem; -ENOMEM. */
static int curve_tables_walk(struct curve_tables *t, int (*table)(void *ctx),
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

#define ROWS_MAX  2000	       /* of one table, that are steps of their own */
#define BYTES_MAX (256u << 20) /* of the intervals of all tables */
#define LEAST	  16	       /* intervals */

struct making {
	struct curve *out;
	struct curve_tables tables;
	struct column_query quiet; /* for the second walk: what is wrong is said once */
	double t0, t1;		   /* of all rows; then t0 is when the first step started */
	double row_s;		   /* the least mean length of a table's rows */
	struct curve_row all;	   /* the first walk's table at hand: its time; value: its rows */
	double dt;
	unsigned most, n; /* intervals */
	double *means;	  /* [tables][n] */
	double *weight;	  /* of the table at hand, [n] */
	unsigned table;	  /* tables before that one */
	unsigned room;	  /* of means */
};

/* ---- the first walk: how much there is */

static int measure_table(void *ctx)
{
	struct making *m = ctx;

	if (m->all.value > 0)
		m->row_s = fmin(m->row_s, (m->all.to - m->all.from) / m->all.value);
	m->all = (struct curve_row){NAN, NAN, 0};
	return 0;
}

static void measure_row(void *ctx, const struct curve_row *row)
{
	struct making *m = ctx;

	m->out->rows++;
	m->all.from = fmin(m->all.from, row->from);
	m->all.to = row->to;
	m->all.value++;
	m->t0 = fmin(m->t0, row->from);
	m->t1 = fmax(m->t1, row->to);
}

/* ---- the second one, of one table */

static void take_row(void *ctx, const struct curve_row *row)
{
	struct making *m = ctx;
	struct curve *c = m->out;

	if (c->n == m->n)
		return;
	c->begin_s[c->n] = row->from - m->t0;
	c->end_s[c->n] = row->to - m->t0;
	c->low[c->n] = c->middle[c->n] = c->high[c->n] = row->value;
	c->n++;
}

/* ---- the second one, of intervals */

static int next_table(void *ctx)
{
	struct making *m = ctx;
	double *means;

	if (m->table == m->room) /* a table that was damaged before */
		return -EBADMSG;
	means = m->means + (size_t)m->table++ * m->n;
	for (unsigned k = 0; k < m->n; k++)
		means[k] = m->weight[k] = 0;
	return 0;
}

static void add_row(void *ctx, const struct curve_row *row)
{
	struct making *m = ctx;
	double *means = m->means + (size_t)(m->table - 1) * m->n;
	double from = (row->from - m->t0) / m->dt, to = (row->to - m->t0) / m->dt;

	if (isnan(row->value))
		return;
	for (unsigned k = from > 0 ? (unsigned)from : 0; k < m->n && k < to; k++) {
		double part = fmin(to, k + 1) - fmax(from, k);

		if (!(part > 0))
			continue;
		/* The mean so far, moved towards the row: no sum that may overflow. */
		m->weight[k] += part;
		means[k] += (row->value - means[k]) * (part / m->weight[k]);
		if (m->room > 1)
			continue;
		m->out->low[k] = fmin(m->out->low[k], row->value);
		m->out->high[k] = fmax(m->out->high[k], row->value);
	}
}

/* Values that a table does not have are not known. */
static void end_table(struct making *m)
{
	double *means = m->means + (size_t)(m->table ? m->table - 1 : 0) * m->n;

	for (unsigned k = 0; m->table && k < m->n; k++)
		if (!(m->weight[k] > 0))
			means[k] = NAN;
}

static int begin_table(void *ctx)
{
	end_table(ctx);
	return next_table(ctx);
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sum_up_interval(struct making *m, unsigned k, double *v)
{
	struct curve *c = m->out;
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < m->table; i++) {
		double mean = m->means[(size_t)i * m->n + k];

		if (isnan(mean))
			continue;
		v[n++] = mean;
		sum += mean;
	}
	c->begin_s[k] = k * m->dt;
	c->end_s[k] = (k + 1) * m->dt;
	if (!n)
		return;
	if (m->tables.q->sum && m->room > 1) {
		c->low[k] = c->middle[k] = c->high[k] = sum;
		return;
	}
	qsort(v, n, sizeof(*v), ascending);
	c->middle[k] = n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
	if (m->room > 1) {
		c->low[k] = v[0];
		c->high[k] = v[n - 1];
	}
}

static int make_intervals(struct making *m)
{
	double *v;
	int err;

	m->means = calloc((size_t)m->room * m->n, sizeof(*m->means));
	m->weight = calloc(m->n, sizeof(*m->weight));
	v = calloc(m->room, sizeof(*v));
	err = m->means && m->weight && v ? curve_tables_walk(&m->tables, begin_table, add_row, m)
					 : -ENOMEM;
	if (!err)
		end_table(m);
	for (unsigned k = 0; !err && k < m->n; k++)
		sum_up_interval(m, k, v);
	m->out->n = err ? 0 : m->n;
	m->out->has_range = m->room == 1 || !m->tables.q->sum;
	free(v);
	return err;
}

/* ---- both */

static int make_room(struct making *m, unsigned n)
{
	double **const arrays[] = {&m->out->begin_s, &m->out->end_s, &m->out->low, &m->out->middle,
				   &m->out->high};

	m->n = n;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		*arrays[i] = malloc((n + 1) * sizeof(double));
		if (!*arrays[i])
			return -ENOMEM;
		for (unsigned k = 0; k < n; k++)
			(*arrays[i])[k] = NAN;
	}
	return 0;
}

/* No more than a table has rows in that time. */
static unsigned intervals_of(const struct making *m)
{
	unsigned n = m->most;
	double rows = rint((m->t1 - m->t0) / m->row_s);

	if (rows >= 1 && rows < n)
		n = (unsigned)rows;
	while (n > LEAST && (size_t)n * m->room * sizeof(double) > BYTES_MAX)
		n /= 2;
	return n;
}

static int make_curve(struct making *m)
{
	struct curve *c = m->out;
	int err = curve_tables_walk(&m->tables, measure_table, measure_row, m);

	if (err)
		return err;
	measure_table(m);
	m->quiet = *m->tables.q;
	m->quiet.problem = NULL;
	m->tables.q = &m->quiet;
	if (!m->tables.has_series)
		return -ENOENT;
	if (!m->tables.tables || !(m->t1 > m->t0))
		return -ENODATA;
	m->t0 = fmin(m->t0, m->tables.first_start);
	m->room = c->tables = m->tables.tables;
	if (c->tables == 1 && c->rows <= ROWS_MAX) {
		err = make_room(m, (unsigned)c->rows);
		return err ? err : curve_tables_walk(&m->tables, NULL, take_row, m);
	}
	err = make_room(m, intervals_of(m));
	m->dt = (m->t1 - m->t0) / m->n;
	return err ? err : make_intervals(m);
}

int curve__read(struct curve *out, const struct model_file *f, const struct column_query *q,
		unsigned intervals)
{
	struct making m = {.out = out,
			   .tables = {.r = f->reader, .q = q, .start = NAN, .first_start = NAN},
			   .most = intervals,
			   .t0 = NAN,
			   .t1 = NAN,
			   .row_s = NAN,
			   .all = {NAN, NAN, 0}};
	int err = cursor__new(&m.tables.cursor);

	*out = (struct curve){0};
	if (!err)
		err = make_curve(&m);
	out->column = m.tables.at.name;
	memcpy(out->unit, m.tables.at.unit, sizeof(out->unit));
	out->is_rate = m.tables.at.kind == COL_DELTA;
	cursor__free(m.tables.cursor);
	free(m.means);
	free(m.weight);
	return err;
}

void curve__free(struct curve *c)
{
	free(c->begin_s);
	free(c->end_s);
	free(c->low);
	free(c->middle);
	free(c->high);
	free(c->column);
	*c = (struct curve){0};
}
