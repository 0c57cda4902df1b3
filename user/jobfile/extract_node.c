/* SPDX-License-Identifier: GPL-2.0-only */
/* One node: its tables, and where the columns of the output are in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "identity/stepname.h"
#include "jobfile/extract_internal.h"

const char *extract__step(const struct extraction *x, unsigned step)
{
	const char *name = x->r->steps[step].name;

	return x->opt->stock ? name : stepname__human(name);
}

static const char *why(int err)
{
	switch (err) {
	case -EBADMSG:
		return "damaged, or not a table of numbers";
	case -EMSGSIZE:
		return "claims more than its bytes can hold";
	case -ENOENT:
		return "cannot be opened";
	case -ENODATA:
		return "has no column to tell its rows' time by";
	default:
		return strerror(-err);
	}
}

int extract__damaged(struct extraction *x, const struct node_ref *ref, const char *table, int err)
{
	const struct reader_step *s = &x->r->steps[ref->step];
	const char *slash = table && strcmp(table, x->series) ? "/" : "";

	if (err == -ENOMEM || err == -EAGAIN)
		return err;
	if (x->looking)
		return 0;
	x->result.damaged++;
	log_error("%s: %s%s%s%s%s%s%s%s: %s; it is left out", x->path,
		  x->r->merged ? "/Steps/" : "", x->r->merged ? s->name : "",
		  x->r->merged ? "/Nodes/" : "/", s->nodes[ref->node], table ? "/" : "",
		  table ? x->series : "", slash, *slash ? table : "", why(err));
	return 0;
}

static int locate(struct extraction *x, char *const *names, const struct text_col *cols, unsigned n)
{
	static const struct text_col nothing = {.at = -1};
	bool chosen = x->opt->ncolumns;
	unsigned hint = 0, there = 0;

	for (unsigned i = 0; i < x->plan.n; i++) {
		int at = plan_names__find(names, n, x->plan.v[i], &hint);

		x->cols[i] = at < 0 ? nothing : cols[at];
		there += at >= 0;
	}
	if (x->opt->stock)
		return there < x->plan.n ? -EAGAIN : 0;
	return there < n && !chosen ? -EAGAIN : 0;
}

int extract__map(struct extraction *x, char *const *names, const struct text_col *cols, unsigned n)
{
	int err = x->looking ? plan_names__add(&x->plan, names, n, x->opt->stock)
			     : locate(x, names, cols, n);

	if (err == -EMSGSIZE)
		log_error("%s: series %s has more columns in all than can be put side by side; "
			  "choose some with --columns",
			  x->path, x->series);
	return err;
}

/* The columns of the table the cursor stands at. */
static int map_table(struct extraction *x)
{
	const struct cursor *c = x->cursor;
	bool unknowns = false, stock = x->opt->stock;
	_cleanup_free_ struct text_col *cols = NULL;
	_cleanup_free_ char **names = NULL;
	int err = 0;

	for (unsigned i = 0; i < c->ncols && !stock; i++)
		unknowns |= c->cols[i].unknown;
	/* Tables that the schema does not have may differ in units alone. */
	if (c->shape != x->shape || !series__find(x->series))
		err = extract__learn_units(x, c, x->series);
	if (err || (c->shape == x->shape && !unknowns && !x->unknowns))
		return err;
	cols = calloc(c->ncols + 1, sizeof(*cols));
	names = calloc(c->ncols + 1, sizeof(*names));
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
	x->shape = c->shape;
	x->unknowns = unknowns;
	return extract__map(x, names, cols, c->ncols);
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
	x->text.ns_at = cursor__column(x->cursor, "TimeNS");
	if (!reader_node__i64(n, "Start TimeNS", &x->text.start_ns))
		x->text.start_ns = INT64_MIN;
	while ((err = cursor__next(x->cursor, &rows, &nrows)) > 0)
		put_rows(x, rows, nrows);
	text__close(&x->text);
	x->result.rows += x->text.rows;
	return err;
}

static int go_to_table(struct extraction *x, const struct reader_node *n,
		       const struct reader_series *s, const char *table)
{
	bool there = x->held == n && x->held_table == table;
	int err = 0;

	if (there)
		cursor__seek(x->cursor, 0);
	else
		err = cursor__open(x->cursor, n, s, table);
	x->held_table = x->glance && !err ? table : NULL;
	return err;
}

/* From the rows of the table. */
static int read_table(struct extraction *x, const struct reader_node *n, unsigned step,
		      const struct reader_series *s, const char *table)
{
	const char *name = s->grouped ? table : NULL, *human = extract__step(x, step);
	bool own_totals = x->opt->totals && !x->opt->stock;
	int err = go_to_table(x, n, s, table);

	if (!err)
		err = time_filter__table(&x->filter, x->cursor, n);
	if (!err && own_totals)
		return totals__computed(x, n->name, human, name);
	if (!err)
		err = map_table(x);
	if (err || x->looking)
		return err;
	return x->opt->totals ? totals__stock(x, n->name, human, name)
			      : put_series(x, n, human, name);
}

static int one_table(struct extraction *x, const struct reader_node *n, const struct node_ref *ref,
		     const struct reader_series *s, const char *table)
{
	int err = 0;

	if (x->opt->totals && !x->opt->stock)
		err = totals__stored(x, n->name, extract__step(x, ref->step),
				     s->grouped ? table : NULL);
	if (!err)
		err = read_table(x, n, ref->step, s, table);
	if (err < 0)
		return extract__damaged(x, ref, table, err);
	x->result.tables += !x->looking;
	return 0;
}

/* Which of the wanted tasks there are. */
static void mark_found(struct extraction *x, const struct reader_series *s, const char *table)
{
	uint64_t task;

	for (unsigned i = 0; i < x->sel.ntasks; i++)
		if (!s->grouped || (!parse_u64(table, &task) && task >= x->sel.tasks[i].from &&
				    task <= x->sel.tasks[i].to))
			x->found[i] = 1;
}

static int all_tables(struct extraction *x, const struct reader_node *n, const struct node_ref *ref,
		      struct reader_series *s)
{
	int err = 0;

	if (!x->plan.begun)
		x->grouped = s->grouped;
	select__order(&x->sel, s);
	if (x->opt->totals && !x->opt->stock)
		err = totals__load(x, ref, s);
	if (!err)
		err = extract__load_marks(x, n);
	for (unsigned i = 0; !err && i < s->ntables && !(x->glance && x->plan.begun); i++) {
		if (s->grouped && !select__table(&x->sel, s->tables[i]))
			continue;
		mark_found(x, s, s->tables[i]);
		err = one_table(x, n, ref, s, s->tables[i]);
	}
	return err;
}

void extract__release(struct extraction *x)
{
	reader_node__free(x->held);
	x->held = NULL;
	x->held_table = NULL;
}

static int go_to_node(struct extraction *x, unsigned ref, struct reader_node **out)
{
	const struct node_ref *at = &x->refs[ref];
	int err = 0;

	if (!x->held || x->held_ref != ref) {
		extract__release(x);
		err = reader__node(x->r, at->step, at->node, x->series, out);
		x->held = err ? NULL : *out;
		x->held_ref = ref;
	}
	*out = x->held;
	return err;
}

int extract__node(struct extraction *x, unsigned ref)
{
	const struct node_ref *at = &x->refs[ref];
	struct reader_node *n;
	int err = go_to_node(x, ref, &n);

	if (err)
		return extract__damaged(x, at, NULL, err);
	if (n->nseries)
		err = all_tables(x, n, at, n->series);
	else
		x->lacks[ref] = 1;
	return err;
}
