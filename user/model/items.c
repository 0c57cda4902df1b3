/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the rows of one column of several tables side by side by their time. */
#include "model/items.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/progress.h"
#include "base/room.h"
#include "hdf5/cursor.h"

#define NS INT64_C(1000000000)

/* One row of one table. */
struct item {
	int64_t bin;	  /* which period */
	uint32_t ord;	  /* its number among the rows of its table in that period */
	bool known;	  /* v is a value */
	int64_t time_ns;  /* unix time */
	uint64_t elapsed; /* s */
	union cell v;
};

struct item_table {
	unsigned step, node; /* the reader's numbers */
	const char *name;    /* the items_tables' */
	unsigned col;	     /* of the result */
	enum col_type type;
	int64_t start_ns;	  /* of the step; INT64_MIN: not known, or rows have no TimeNS */
	int64_t first_ns, ref_ns; /* of its first row, and of one at its regular time */
	int64_t phase;		  /* ns */
	uint64_t nrows, pos;	  /* rows, and how many of them are done */
	int64_t bin;		  /* of the last row done */
	uint32_t ord;
	struct item *loaded; /* rows from pos on */
	unsigned nloaded, at;
	struct item last; /* row done */
	bool begun;
};

struct items_tables {
	const struct reader *r; /* the model_file's */
	const struct items_query *q;
	struct item_table *v;
	unsigned n;
	struct items_col *cols; /* of the result */
	unsigned ncols;
	struct column_place at;
	bool grouped;
	int64_t *gaps; /* ns between rows of some tables */
	unsigned ngaps, sampled;
	unsigned others; /* of the series, without the column */
	struct cursor *cursor;
	struct reader_node *node, *before; /* the cursor may still be in the one before */
	void *names, *columns;		   /* trees of tsearch(3) */
};

/* ---- the tables whose rows are put side by side, and the next row of each */

#define TABLES_MAX  (4u << 20)
#define SAMPLED_MAX 64u	 /* tables whose intervals are looked at */
#define GAPS_MAX    256u /* of one table */
#define TIME_MAX    (INT64_C(1) << 61)

/* A column of the result, in the tree. */
struct column_key {
	struct items_col col;
	unsigned at;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int by_column(const void *a, const void *b)
{
	const struct items_col *x = a, *y = b;
	int order = strcmp(x->node, y->node);

	return order || !x->table ? order : strcmp(x->table, y->table);
}

/* Returns the same pointer for the same text. */
static const char *intern(struct items_tables *t, const char *name)
{
	char **at = tsearch(name, &t->names, by_text);

	if (!at)
		return NULL;
	if (*at == name) {
		*at = strdup(name);
		if (!*at) {
			*at = (char *)name;
			tdelete(name, &t->names, by_text);
			return NULL;
		}
	}
	return *at;
}

static int add_column(struct items_tables *t, const struct items_col *col, unsigned *at)
{
	struct column_key *key = malloc(sizeof(*key)), **in;

	if (!key)
		return -ENOMEM;
	*key = (struct column_key){*col, t->ncols};
	in = tsearch(key, &t->columns, by_column);
	if (!in || *in != key) {
		*at = in ? (*in)->at : 0;
		free(key);
		return in ? 0 : -ENOMEM;
	}
	if (room__grow(&t->cols, t->ncols, 1, sizeof(*t->cols)))
		return -ENOMEM;
	*at = t->ncols;
	t->cols[t->ncols++] = *col;
	return 0;
}

static int add_table(struct items_tables *t, const struct item_table *w)
{
	if (t->n == TABLES_MAX)
		return -E2BIG;
	if (room__grow(&t->v, t->n, 1, sizeof(*t->v)))
		return -ENOMEM;
	t->v[t->n++] = *w;
	return 0;
}

/* A value that is no time becomes the nearest time, for the conversion must not overflow. */
static int64_t to_time(double v)
{
	return v >= 0 && v < (double)TIME_MAX ? (int64_t)v : v > 0 ? TIME_MAX : 0;
}

static int64_t time_of(const struct items_tables *t, const union cell *row)
{
	const struct cursor_column *cols = t->cursor->cols;

	if (t->at.ns >= 0 && cols[t->at.ns].type == COL_U64)
		return row[t->at.ns].u < (uint64_t)TIME_MAX ? (int64_t)row[t->at.ns].u : TIME_MAX;
	if (t->at.epoch < 0)
		return 0;
	return to_time(cell__number(row[t->at.epoch], cols[t->at.epoch].type) * NS);
}

static uint64_t elapsed_of(const struct items_tables *t, const union cell *row)
{
	const struct cursor_column *cols = t->cursor->cols;

	if (t->at.elapsed < 0)
		return 0;
	if (cols[t->at.elapsed].type == COL_U64)
		return row[t->at.elapsed].u;
	return to_time(cell__number(row[t->at.elapsed], cols[t->at.elapsed].type));
}

static int sample_gaps(struct items_tables *t, const union cell *rows, unsigned n)
{
	int64_t before, now;

	if (t->sampled == SAMPLED_MAX || n < 2)
		return 0;
	if (room__grow(&t->gaps, t->ngaps, GAPS_MAX, sizeof(*t->gaps)))
		return -ENOMEM;
	t->sampled++;
	before = time_of(t, rows);
	for (unsigned i = 1; i < n && i <= GAPS_MAX; i++, before = now) {
		now = time_of(t, rows + (size_t)i * t->cursor->ncols);
		if (now > before)
			t->gaps[t->ngaps++] = now - before;
	}
	return 0;
}

/* The first row may be of a shorter interval: the second stands for the others. */
static int read_first_rows(struct items_tables *t, struct item_table *w)
{
	const union cell *rows;
	unsigned n;
	int got = cursor__next(t->cursor, &rows, &n);

	if (got <= 0)
		return got;
	w->first_ns = time_of(t, rows);
	w->ref_ns = time_of(t, n > 1 ? rows + t->cursor->ncols : rows);
	return sample_gaps(t, rows, n);
}

static int open_table(struct items_tables *t, const struct reader_series *s, const char *table,
		      struct item_table *w)
{
	int err = cursor__open(t->cursor, t->node, s, table);

	if (!err)
		err = column_place__find(&t->at, &t->q->of, t->cursor);
	if (err)
		return err;
	if (t->at.value < 0)
		return -ENODATA;
	if (t->at.ns < 0 && t->at.epoch < 0)
		return -EBADMSG;
	if (t->at.ns < 0 || !reader_node__i64(t->node, "Start TimeNS", &w->start_ns))
		w->start_ns = INT64_MIN;
	w->type = t->cursor->cols[t->at.value].type;
	w->nrows = t->cursor->nrows;
	return read_first_rows(t, w);
}

static void report_problem(const struct items_tables *t, const char *table, int err)
{
	column_query__problem(&t->q->of, t->node->step, t->node->name, table, err);
}

/* A damaged table is reported, and only that table is left out. */
static int find_table(struct items_tables *t, const struct reader_series *s, const char *table,
		      struct item_table *w)
{
	struct items_col col = {t->node->name, NULL};
	int err = open_table(t, s, table, w);

	if (err == -ENOMEM)
		return err;
	if (err) {
		t->others += err == -ENODATA;
		report_problem(t, s->grouped ? table : NULL, err);
		return 0;
	}
	w->name = intern(t, table);
	if (!w->name)
		return -ENOMEM;
	col.table = s->grouped ? w->name : NULL;
	t->grouped |= s->grouped;
	err = add_column(t, &col, &w->col);
	return err ? err : add_table(t, w);
}

static int go_to_node(struct items_tables *t, unsigned step, unsigned node)
{
	const struct reader_node *n = t->node;

	if (n && n->step == t->r->steps[step].name && n->name == t->r->steps[step].nodes.v[node])
		return 0;
	reader_node__free(t->before);
	t->before = t->node;
	t->node = NULL;
	return reader__node(t->r, step, node, t->q->of.series, &t->node);
}

static int find_in_node(struct items_tables *t, unsigned step, unsigned node)
{
	const struct reader_step *s = &t->r->steps[step];
	struct reader_series *series;
	int err = go_to_node(t, step, node);

	if (err == -ENOMEM)
		return err;
	if (err || !t->node->nseries) {
		column_query__problem(&t->q->of, s->name, s->nodes.v[node], NULL,
				      err ? err : -ENODATA);
		return 0;
	}
	series = t->node->series;
	select__order(t->q->of.sel, series);
	for (unsigned i = 0; !err && i < series->tables.n; i++) {
		struct item_table w = {.step = step, .node = node};

		if (!series->grouped || select__table(t->q->of.sel, series->tables.v[i]))
			err = find_table(t, series, series->tables.v[i], &w);
	}
	return err;
}

/* All tables of the selection, by step. As items__open. */
static int items_tables_find(struct items_tables *t)
{
	struct node_ref *refs = NULL;
	struct progress progress;
	unsigned n = 0;
	int err = cursor__new(&t->cursor);

	if (!err)
		t->cursor->as_stored = t->q->as_stored;
	if (!err)
		err = select__nodes(t->r, t->q->of.sel, &refs, &n);
	progress__begin(&progress, "looking at nodes", n);
	for (unsigned i = 0; !err && i < n; i++) {
		err = find_in_node(t, refs[i].step, refs[i].node);
		progress__at(&progress, i + 1);
	}
	progress__clear(&progress);
	free(refs);
	if (!err && !t->n)
		err = t->others ? -ENODATA : -ENOENT;
	return err;
}

/* Which period a row is in: never one before that of the row before it. */
static void place(struct item_table *w, struct item *i, int64_t start_ns, int64_t period_ns)
{
	int64_t since = i->time_ns - start_ns - w->phase + period_ns / 2;
	int64_t bin = since / period_ns - (since % period_ns < 0);

	if (w->begun && bin <= w->bin) {
		w->ord++;
	} else {
		w->bin = bin;
		w->ord = 0;
	}
	w->begun = true;
	i->bin = w->bin;
	i->ord = w->ord;
}

static void take_row(const struct items_tables *t, const union cell *row, struct item *out)
{
	const struct cursor_column *col = &t->cursor->cols[t->at.value];

	out->time_ns = time_of(t, row);
	out->elapsed = elapsed_of(t, row);
	out->v = row[t->at.value];
	out->known = col->type == COL_F64 ? !isnan(out->v.f) && !col->unknown
					  : !col->unknown || t->q->as_stored;
}

/* The rows before the damage stay; the table ends there. */
static int damaged(struct items_tables *t, struct item_table *w, int err)
{
	const struct reader_step *s = &t->r->steps[w->step];

	if (err == -ENOMEM)
		return err;
	column_query__problem(&t->q->of, s->name, s->nodes.v[w->node], t->grouped ? w->name : NULL,
			      err);
	w->nrows = w->pos + w->nloaded;
	return 0;
}

/* Reads up to max rows from w->pos on to w->loaded, which has room for them. Periods are counted
 * from start_ns. A damaged table is reported, and ends where the damage begins. 0 or -ENOMEM. */
static int items_tables_load(struct items_tables *t, struct item_table *w, unsigned max,
			     int64_t start_ns, int64_t period_ns)
{
	struct item_table placed = *w;
	int err = go_to_node(t, w->step, w->node), got = 1;
	const union cell *rows;
	unsigned n;

	w->nloaded = w->at = 0;
	if (!err)
		err = t->node->nseries ? cursor__open(t->cursor, t->node, t->node->series, w->name)
				       : -EBADMSG;
	if (!err)
		err = column_place__find(&t->at, &t->q->of, t->cursor);
	if (err || t->at.value < 0)
		return damaged(t, w, err ? err : -EBADMSG);
	cursor__seek(t->cursor, w->pos);
	while (w->nloaded < max) {
		got = cursor__next(t->cursor, &rows, &n);
		if (got <= 0)
			break;
		for (unsigned i = 0; i < n && w->nloaded < max; i++) {
			struct item *out = &w->loaded[w->nloaded++];

			take_row(t, rows + (size_t)i * t->cursor->ncols, out);
			place(&placed, out, start_ns, period_ns);
		}
	}
	return got < 0 ? damaged(t, w, got) : 0;
}

static void items_tables_free(struct items_tables *t)
{
	if (!t)
		return;
	/* The cursor reads from the node. */
	cursor__free(t->cursor);
	reader_node__free(t->node);
	reader_node__free(t->before);
	tdestroy(t->names, free);
	tdestroy(t->columns, free);
	free(t->v);
	free(t->cols);
	free(t->at.name);
	free(t->gaps);
	*t = (struct items_tables){0};
}

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
		err = items_tables_load(&s->tables, w, left < s->share ? left : s->share,
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
	err = items_tables_find(&s->tables);
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
		items_tables_free(&it->state->tables);
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
