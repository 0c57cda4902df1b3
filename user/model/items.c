/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of one column of several tables are put side by side by their time. */
#include "model/items.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "model/items_tables.h"

#define POOL_BYTES   (32u << 20)
#define SHARE_MIN    12u /* rows of one table in memory */
#define HUNDREDTH    (NS / 100)
#define PERIOD_MAX_S 1e9
#define PERIOD_MAX   (1000000000 * NS)

struct items_state {
	struct items_query q;
	struct items_tables tables;
	int64_t period_ns;
	unsigned lo, hi; /* tables of this step */
	int64_t start_ns;
	bool begun;   /* a row of this step was given */
	unsigned nth; /* such steps before it */
	struct item *pool;
	unsigned share; /* of it, of each table */
	/* All rows up to here are in memory, of every table of the step. */
	int64_t whole_bin;
	uint32_t whole_ord;
	union cell *cells;
	bool *known;
	unsigned *node_seen; /* by node of the step: the number of the row it was seen in */
	unsigned row_no;
};

static int by_gap(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* At a step's end rows come early: three quarters of the intervals are no longer. Timers tremble:
 * hundredths of a second are what is set. */
static int64_t choose_period(struct items_tables *t, double wanted)
{
	int64_t gap = NS;

	if (wanted > 0)
		return wanted < PERIOD_MAX_S ? (int64_t)(wanted * NS + 0.5) : PERIOD_MAX;
	if (t->ngaps) {
		qsort(t->gaps, t->ngaps, sizeof(*t->gaps), by_gap);
		gap = t->gaps[(size_t)t->ngaps * 3 / 4];
	}
	if (gap >= 10 * HUNDREDTH)
		gap = (gap + HUNDREDTH / 2) / HUNDREDTH * HUNDREDTH;
	return gap < PERIOD_MAX ? gap : PERIOD_MAX;
}

static enum col_type common_type(const struct items_tables *t)
{
	enum col_type type = t->v[0].type;

	for (unsigned i = 1; i < t->n; i++)
		if (t->v[i].type != type)
			return COL_F64;
	return type;
}

/* The first row of a step, and how far each table is off the periods counted from there. */
static void set_phases(struct items_state *s)
{
	struct item_table *v = s->tables.v;

	s->start_ns = v[s->lo].first_ns;
	for (unsigned i = s->lo; i < s->hi; i++)
		if (v[i].nrows && (v[i].first_ns < s->start_ns || !v[s->lo].nrows))
			s->start_ns = v[i].first_ns;
	for (unsigned i = s->lo; i < s->hi; i++) {
		int64_t off = (v[i].ref_ns - s->start_ns) % s->period_ns;

		v[i].phase = off < s->period_ns - off ? off : off - s->period_ns;
	}
}

/* Memory for some rows of each table of the step. */
static int share_pool(struct items_state *s)
{
	struct item_table *v = s->tables.v;
	size_t items = 0;

	s->share = POOL_BYTES / sizeof(*s->pool) / (s->hi - s->lo);
	if (s->share < SHARE_MIN)
		s->share = SHARE_MIN;
	for (unsigned i = s->lo; i < s->hi; i++)
		items += v[i].nrows < s->share ? v[i].nrows : s->share;
	free(s->pool);
	s->pool = malloc((items + 1) * sizeof(*s->pool));
	if (!s->pool)
		return -ENOMEM;
	items = 0;
	for (unsigned i = s->lo; i < s->hi; i++) {
		v[i].loaded = s->pool + items;
		items += v[i].nrows < s->share ? v[i].nrows : s->share;
	}
	return 0;
}

/* 1; 0: that was the last. */
static int begin_step(struct items *it)
{
	struct items_state *s = it->state;
	struct item_table *v = s->tables.v;
	int err;

	s->nth += s->begun;
	s->lo = s->hi;
	while (s->hi < s->tables.n && v[s->hi].step == v[s->lo].step)
		s->hi++;
	if (s->lo == s->hi)
		return 0;
	s->begun = false;
	s->row_no = 0;
	set_phases(s);
	free(s->node_seen);
	s->node_seen = calloc(s->tables.r->steps[v[s->lo].step].nodes.n, sizeof(*s->node_seen));
	err = s->node_seen ? share_pool(s) : -ENOMEM;
	return err ? err : 1;
}

static int place_cmp(int64_t bin, uint32_t ord, int64_t bin2, uint32_t ord2)
{
	if (bin != bin2)
		return bin < bin2 ? -1 : 1;
	return ord < ord2 ? -1 : ord > ord2;
}

/* The next rows of all tables that have some. Returns whether there are any. */
static int load_series(struct items_state *s)
{
	struct progress progress;
	bool any = false;
	int err = 0;

	progress__begin(&progress, "reading tables", s->hi - s->lo);
	s->whole_bin = INT64_MAX;
	s->whole_ord = UINT32_MAX;
	for (unsigned i = s->lo; !err && i < s->hi; i++) {
		struct item_table *w = &s->tables.v[i];
		uint64_t left = w->nrows - w->pos;
		const struct item *end;

		w->nloaded = w->at = 0;
		progress__at(&progress, i - s->lo);
		if (!left)
			continue;
		err = items_tables__load(&s->tables, w, left < s->share ? left : s->share,
					 s->start_ns, s->period_ns);
		if (err)
			continue;
		any |= w->nloaded > 0;
		if (w->pos + w->nloaded == w->nrows)
			continue;
		end = &w->loaded[w->nloaded - 1];
		if (place_cmp(end->bin, end->ord, s->whole_bin, s->whole_ord) < 0) {
			s->whole_bin = end->bin;
			s->whole_ord = end->ord;
		}
	}
	progress__clear(&progress);
	return err ? err : any;
}

/* The earliest row in memory, NULL: none that may be used yet. */
static const struct item *earliest(const struct items_state *s)
{
	const struct item *first = NULL;

	for (unsigned i = s->lo; i < s->hi; i++) {
		const struct item_table *w = &s->tables.v[i];
		const struct item *x = &w->loaded[w->at];

		if (w->at == w->nloaded)
			continue;
		if (!first || place_cmp(x->bin, x->ord, first->bin, first->ord) < 0)
			first = x;
	}
	if (first && place_cmp(first->bin, first->ord, s->whole_bin, s->whole_ord) > 0)
		return NULL;
	return first;
}

static union cell convert(union cell v, enum col_type from, enum col_type to)
{
	return from == to ? v : (union cell){.f = cell__number(v, from)};
}

static void set_cell(struct items *it, const struct item_table *w, const struct item *x)
{
	struct items_state *s = it->state;

	s->cells[w->col] = convert(x->v, w->type, it->type);
	s->known[w->col] = true;
	s->node_seen[w->node] = s->row_no;
}

/* Takes the table's row of the bin, or else the last row before, where it still holds. */
static void take_table(struct items *it, struct item_table *w, int64_t bin, uint32_t ord,
		       struct items_row *row)
{
	const struct item *x = w->at < w->nloaded ? &w->loaded[w->at] : NULL;

	if (x && !place_cmp(x->bin, x->ord, bin, ord)) {
		row->tables++;
		row->elapsed = x->elapsed;
		row->time_ns = x->time_ns;
		row->seconds =
			w->start_ns == INT64_MIN ? NAN : (double)(x->time_ns - w->start_ns) / NS;
		if (x->known)
			set_cell(it, w, x);
		w->last = *x;
		w->bin = x->bin;
		w->ord = x->ord;
		w->begun = true;
		w->at++;
		w->pos++;
	} else if (w->begun && w->pos < w->nrows && it->kind != COL_DELTA) {
		row->tables++;
		if (w->last.known)
			set_cell(it, w, &w->last);
	}
}

static void make_row(struct items *it, const struct item *first, struct items_row *row)
{
	struct items_state *s = it->state;
	/* *first is in the memory that the tables move on in. */
	int64_t bin = first->bin;
	uint32_t ord = first->ord;
	unsigned step = s->tables.v[s->lo].step;

	memset(s->known, 0, it->ncols * sizeof(*s->known));
	*row = (struct items_row){
		.step = s->tables.r->steps[step].name,
		.nth = s->nth,
		.first = !s->begun,
		.cells = s->cells,
		.known = s->known,
	};
	s->begun = true;
	s->row_no++;
	for (unsigned i = s->lo; i < s->hi; i++)
		take_table(it, &s->tables.v[i], bin, ord, row);
	for (unsigned i = 0; i < s->tables.r->steps[step].nodes.n; i++)
		row->nodes += s->node_seen[i] == s->row_no;
}

static bool less(union cell a, union cell b, enum col_type type)
{
	if (type == COL_F64)
		return a.f < b.f;
	return type == COL_I64 ? a.i < b.i : a.u < b.u;
}

static void add_number(struct items_number *sum, union cell v, enum col_type type)
{
	union cell next;

	if (sum->big || type == COL_F64) { /* big: from then on it is a double */
		sum->v.f += cell__number(v, type);
		return;
	}
	if (type == COL_I64 ? !__builtin_add_overflow(sum->v.i, v.i, &next.i)
			    : !__builtin_add_overflow(sum->v.u, v.u, &next.u)) {
		sum->v = next;
		return;
	}
	sum->big = true;
	sum->v.f = cell__number(sum->v, type) + cell__number(v, type);
}

double items__double(struct items_number v, enum col_type type)
{
	return v.big ? v.v.f : cell__number(v.v, type);
}

static void sum_up(const struct items *it, struct items_row *row)
{
	row->sum = (struct items_number){0};
	for (unsigned i = 0; i < it->ncols; i++) {
		if (!row->known[i])
			continue;
		if (!row->n || less(row->cells[i], row->cells[row->min_at], it->type))
			row->min_at = i;
		if (!row->n || less(row->cells[row->max_at], row->cells[i], it->type))
			row->max_at = i;
		add_number(&row->sum, row->cells[i], it->type);
		row->n++;
	}
	row->avg = row->n ? items__double(row->sum, it->type) / row->n : NAN;
}

int items__next(struct items *it, struct items_row *row)
{
	struct items_state *s = it->state;
	const struct item *first;

	while (!(first = s->lo < s->hi ? earliest(s) : NULL)) {
		int got = s->lo < s->hi ? load_series(s) : 0;

		if (!got)
			got = begin_step(it);
		else if (got > 0)
			continue;
		if (got <= 0)
			return got;
	}
	make_row(it, first, row);
	sum_up(it, row);
	return 1;
}

int items__open(struct items **out, const struct model_file *f, const struct items_query *q)
{
	struct items *it = calloc(1, sizeof(*it));
	struct items_state *s = it ? calloc(1, sizeof(*s)) : NULL;
	int err = s ? 0 : -ENOMEM;

	if (err)
		goto fail;
	it->state = s;
	s->q = *q;
	s->tables.r = f->reader;
	s->tables.q = &s->q;
	err = items_tables__find(&s->tables);
	if (err)
		goto fail;
	s->period_ns = choose_period(&s->tables, q->period);
	it->period = (double)s->period_ns / NS;
	it->cols = s->tables.cols;
	it->ncols = s->tables.ncols;
	it->column = s->tables.at.name;
	it->unit = s->tables.at.unit;
	it->grouped = s->tables.grouped;
	it->type = common_type(&s->tables);
	it->kind = s->tables.at.kind;
	s->cells = calloc(it->ncols, sizeof(*s->cells));
	s->known = calloc(it->ncols, sizeof(*s->known));
	if (!s->cells || !s->known) {
		err = -ENOMEM;
		goto fail;
	}
	*out = it;
	return 0;
fail:
	items__free(it);
	return err;
}

void items__free(struct items *it)
{
	if (!it)
		return;
	if (it->state) {
		items_tables__free(&it->state->tables);
		free(it->state->pool);
		free(it->state->cells);
		free(it->state->known);
		free(it->state->node_seen);
	}
	free(it->state);
	free(it);
}

void items__total(struct items_totals *t, const struct items *it, const struct items_row *row)
{
	t->rows++;
	if (!row->n)
		return;
	if (!t->n || less(row->cells[row->min_at], t->min, it->type)) {
		t->min = row->cells[row->min_at];
		t->min_at = row->min_at;
		t->min_ns = row->time_ns;
	}
	if (!t->n || less(t->max, row->cells[row->max_at], it->type)) {
		t->max = row->cells[row->max_at];
		t->max_at = row->max_at;
		t->max_ns = row->time_ns;
	}
	if (!t->n || items__double(row->sum, it->type) > items__double(t->best, it->type)) {
		t->best = row->sum;
		t->best_elapsed = row->elapsed;
		t->best_seconds = row->seconds;
		t->best_ns = row->time_ns;
		t->best_avg = row->avg;
		t->best_nodes = row->nodes;
	}
	t->n += row->n;
	if (row->sum.big && !t->sum.big)
		t->sum = (struct items_number){{.f = items__double(t->sum, it->type)}, true};
	add_number(&t->sum, row->sum.v, row->sum.big ? COL_F64 : it->type);
}
