/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables whose rows are put side by side, and the next row of each. */
#include "model/items_tables.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/progress.h"

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
	struct items_col *cols;

	if (!key)
		return -ENOMEM;
	*key = (struct column_key){*col, t->ncols};
	in = tsearch(key, &t->columns, by_column);
	if (!in || *in != key) {
		*at = in ? (*in)->at : 0;
		free(key);
		return in ? 0 : -ENOMEM;
	}
	if ((t->ncols & (t->ncols - 1)) == 0) {
		cols = realloc(t->cols, (t->ncols ? 2 * t->ncols : 1) * sizeof(*cols));
		if (!cols)
			return -ENOMEM;
		t->cols = cols;
	}
	*at = t->ncols;
	t->cols[t->ncols++] = *col;
	return 0;
}

static int add_table(struct items_tables *t, const struct item_table *w)
{
	struct item_table *v;

	if (t->n == TABLES_MAX)
		return -E2BIG;
	if (t->n == t->room) {
		v = realloc(t->v, (t->room ? 2 * t->room : 64) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		t->v = v;
		t->room = t->room ? 2 * t->room : 64;
	}
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
	int64_t *gaps, before, now;

	if (t->sampled == SAMPLED_MAX || n < 2)
		return 0;
	gaps = realloc(t->gaps, (t->ngaps + GAPS_MAX) * sizeof(*gaps));
	if (!gaps)
		return -ENOMEM;
	t->gaps = gaps;
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

int items_tables__find(struct items_tables *t)
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

int items_tables__load(struct items_tables *t, struct item_table *w, unsigned max, int64_t start_ns,
		       int64_t period_ns)
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

void items_tables__free(struct items_tables *t)
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
