/* SPDX-License-Identifier: GPL-2.0-only */
/* One pass over one node: its tables, which the first pass maps and the second one writes. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "jobfile/extract/extract_internal.h"

/* The columns of the table the cursor stands at. */
static int map_table(struct extraction *x)
{
	const struct cursor *c = x->cursor;
	bool unknowns = false, stock = x->opt->stock;
	unsigned n = c->ncols;
	_cleanup_free_ struct text_col *cols = NULL;
	_cleanup_free_ char **names = NULL;
	int err = 0;

	for (unsigned i = 0; i < c->ncols && !stock; i++)
		unknowns |= c->cols[i].unknown;
	/* Tables that the schema does not have may differ in units alone. */
	if (c->shape != x->shape || !series__find(x->series))
		err = extract__collect_units(x);
	if (err || (c->shape == x->shape && !unknowns && !x->unknowns))
		return err;
	cols = calloc(c->ncols + 2, sizeof(*cols));
	names = calloc(c->ncols + 2, sizeof(*names));
	if (!cols || !names)
		return -ENOMEM;
	for (unsigned i = 0; i < c->ncols; i++) {
		names[i] = c->cols[i].name;
		cols[i].at = !stock && c->cols[i].unknown ? -1 : (int)i;
		cols[i].type = c->cols[i].type;
		cols[i].there = true;
		if (extract__is_marks(x, c->cols[i].name) && cols[i].type == COL_U64)
			cols[i].names = &x->marks;
	}
	if (extract__has_seconds(x)) {
		names[n] = EXTRACT_SECONDS;
		cols[n++] = (struct text_col){.at = cursor__column(c, "TimeNS"),
					      .type = COL_F64,
					      .there = true,
					      .is_seconds = true};
	}
	x->shape = c->shape;
	x->unknowns = unknowns;
	return extract__map_columns(x, names, cols, n);
}

static void put_rows(struct extraction *x, const union cell *rows, unsigned n)
{
	unsigned stride = x->cursor->ncols;

	if (!x->filter.on) {
		text__rows(&x->text, x->cols, rows, n, stride);
		return;
	}
	for (unsigned i = 0; i < n; i++, rows += stride)
		if (time_filter__row(&x->filter, rows))
			text__rows(&x->text, x->cols, rows, 1, stride);
}

static int put_series(struct extraction *x, const struct reader_node *n, const char *step,
		      const char *table)
{
	const union cell *rows;
	unsigned nrows;
	int err;

	err = text__open(&x->text, step, n->name, table, x->cols);
	if (err)
		return err;
	if (!reader_node__i64(n, "Start TimeNS", &x->text.start_ns))
		x->text.start_ns = INT64_MIN;
	while ((err = cursor__next(x->cursor, &rows, &nrows)) > 0)
		put_rows(x, rows, nrows);
	text__close(&x->text);
	x->result.rows += x->text.rows;
	return err;
}

static int read_table(struct extraction *x, const struct reader_node *n, unsigned step,
		      const struct reader_series *s, const char *table)
{
	const char *name = s->grouped ? table : NULL, *human = extract__step(x, step);
	int err = cursor__open(x->cursor, n, s, table);

	if (!err)
		err = time_filter__table(&x->filter, x->cursor, n);
	if (!err && x->opt->totals && !x->opt->stock)
		return totals__of_table(x, n->name, human, name);
	if (!err)
		err = map_table(x);
	if (err || x->collecting)
		return err;
	return x->opt->totals ? totals__of_table_stock(x, n->name, human, name)
			      : put_series(x, n, human, name);
}

static int read_or_name_table(struct extraction *x, const struct reader_node *n,
			      const struct node_ref *ref, const struct reader_series *s,
			      const char *table)
{
	int err = read_table(x, n, ref->step, s, table);

	if (err)
		return extract__name_damaged(x, ref, table, err);
	x->result.tables += !x->collecting;
	return 0;
}

/* Which of the wanted tasks there are. */
static void mark_tasks_found(struct extraction *x, const struct reader_series *s, const char *table)
{
	uint64_t task;

	for (unsigned i = 0; i < x->sel.ntasks; i++)
		if (!s->grouped || (!parse_u64(table, &task) && task >= x->sel.tasks[i].from &&
				    task <= x->sel.tasks[i].to))
			x->found[i] = 1;
}

static int read_tables(struct extraction *x, const struct reader_node *n,
		       const struct node_ref *ref, struct reader_series *s)
{
	int err;

	if (!x->has_columns)
		x->grouped = s->grouped;
	select__order(&x->sel, s);
	err = extract__load_marks(x, n);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		if (s->grouped && !select__table(&x->sel, s->tables.v[i]))
			continue;
		mark_tasks_found(x, s, s->tables.v[i]);
		err = read_or_name_table(x, n, ref, s, s->tables.v[i]);
	}
	return err;
}

int extract__node(struct extraction *x, unsigned ref)
{
	const struct node_ref *at = &x->refs[ref];
	struct reader_node *n;
	int err = reader__node(x->r, at->step, at->node, x->series, &n);

	if (err)
		return extract__name_damaged(x, at, NULL, err);
	if (n->nseries)
		err = read_tables(x, n, at, n->series);
	else
		x->lacks[ref] = 1;
	cursor__close(x->cursor);
	reader_node__free(n);
	return err;
}
