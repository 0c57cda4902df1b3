/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of tables: as sh5util computes them, as summary.h does, or as they are stored. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "jobfile/extract_totals.h"

int totals__new(struct totals **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void forget_shape(struct totals *t)
{
	summary__free_columns(t->out, t->nout);
	table_columns__clear(&t->columns);
	free(t->unknown);
	free(t->cells);
	free(t->row);
	t->out = NULL;
	t->unknown = NULL;
	t->cells = NULL;
	t->row = NULL;
	t->nout = 0;
}

void totals__free(struct totals *t)
{
	if (!t)
		return;
	forget_shape(t);
	totals__unload(t);
	cursor__free(t->cursor);
	free(t);
}

static int put_row(struct extraction *x, const char *node, const char *step, const char *table,
		   const struct text_col *cols, const union cell *row)
{
	int err = text__open(&x->text, step, node, table, cols);

	if (err)
		return err;
	text__rows(&x->text, cols, row, 1, 0);
	text__close(&x->text);
	x->result.rows++;
	return 0;
}

static int learn_shape(struct extraction *x)
{
	const struct cursor *c = x->cursor;
	struct totals *t = x->totals;
	int err;

	/* What a table stores of its columns may differ from table to table. */
	if (t->columns.builtin && t->shape == c->shape)
		return 0;
	err = extract__learn_units(x, c, x->series);
	if (err)
		return err;
	forget_shape(t);
	t->shape = c->shape;
	t->unknown = calloc(c->ncols, sizeof(*t->unknown));
	t->cells = calloc(c->ncols, sizeof(*t->cells));
	t->row = calloc(4 * c->ncols + 1, sizeof(*t->row));
	if (!t->unknown || !t->cells || !t->row)
		return -ENOMEM;
	err = table_columns__read(&t->columns, c, x->series);
	if (!err)
		err = summary__columns(t->columns.cols, c->ncols, false, &t->out, &t->nout);
	if (err)
		forget_shape(t);
	return err;
}

static int map_computed(struct extraction *x)
{
	struct totals *t = x->totals;
	_cleanup_free_ struct text_col *cols = calloc(t->nout + 1, sizeof(*cols));
	_cleanup_free_ char **names = calloc(t->nout + 1, sizeof(*names));

	if (!cols || !names)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nout; i++) {
		names[i] = (char *)t->out[i].name;
		cols[i] = (struct text_col){(int)i, COL_F64, true, NULL};
	}
	return extract__map(x, names, cols, t->nout);
}

static void sum_rows(struct extraction *x, const union cell *rows, unsigned n)
{
	const struct totals *t = x->totals;
	const unsigned ncols = x->cursor->ncols;

	if (!x->filter.on) {
		summary__rows(t->cells, t->columns.cols, t->unknown, ncols, rows, n);
		return;
	}
	for (; n; n--, rows += ncols)
		if (time_filter__row(&x->filter, rows))
			summary__rows(t->cells, t->columns.cols, t->unknown, ncols, rows, 1);
}

int totals__computed(struct extraction *x, const char *node, const char *step, const char *table)
{
	struct cursor *c = x->cursor;
	struct totals *t = x->totals;
	const union cell *rows;
	unsigned n;
	int err = learn_shape(x);

	if (!err)
		err = map_computed(x);
	if (err || x->looking)
		return err;
	memset(t->cells, 0, c->ncols * sizeof(*t->cells));
	for (unsigned i = 0; i < c->ncols; i++)
		t->unknown[i] = c->cols[i].unknown;
	while ((err = cursor__next(c, &rows, &n)) > 0)
		sum_rows(x, rows, n);
	if (err)
		return err;
	summary__fill(t->cells, t->columns.cols, c->ncols, false, 0, t->row);
	return put_row(x, node, step, table, x->cols, t->row);
}

int totals__stored(struct extraction *x, const char *node, const char *step, const char *table)
{
	struct totals *t = x->totals;
	const union cell *row = totals__row(t, table);
	char name[sizeof("Totals/") + sizeof(x->series)];
	int err;

	if (!row || x->filter.on)
		return 0;
	snprintf(name, sizeof(name), "Totals/%s", x->series);
	err = extract__learn_units(x, t->cursor, name);
	if (!err)
		err = extract__map(x, t->names, t->names_at, t->nnames);
	if (!err && !x->looking)
		err = put_row(x, node, step, table, x->cols, row);
	return err ? err : 1;
}

/* Of one column. The sum is in the column's type, and wraps around as it does there. */
static void add_u64(union cell *acc, const union cell *rows, unsigned n, unsigned stride)
{
	uint64_t min = acc[0].u, max = acc[1].u, sum = acc[2].u;

	for (unsigned i = 0; i < n; i++, rows += stride) {
		min = rows->u < min ? rows->u : min;
		max = rows->u > max ? rows->u : max;
		sum += rows->u;
	}
	acc[0].u = min;
	acc[1].u = max;
	acc[2].u = sum;
}

static void add_i64(union cell *acc, const union cell *rows, unsigned n, unsigned stride)
{
	int64_t min = acc[0].i, max = acc[1].i;
	uint64_t sum = acc[2].u;

	for (unsigned i = 0; i < n; i++, rows += stride) {
		min = rows->i < min ? rows->i : min;
		max = rows->i > max ? rows->i : max;
		sum += rows->u;
	}
	acc[0].i = min;
	acc[1].i = max;
	acc[2].u = sum;
}

/* A NaN that comes first stays the minimum, as in sh5util; the sign of a NaN sum is the last
 * NaN's, as its addition has it. */
static void add_f64(union cell *acc, const union cell *rows, unsigned n, unsigned stride)
{
	double min = acc[0].f, max = acc[1].f, sum = acc[2].f;

	for (unsigned i = 0; i < n; i++, rows += stride) {
		double v = rows->f;

		min = v < min ? v : min;
		max = v > max || isnan(max) ? v : max;
		sum = isnan(v) ? v : sum + v;
	}
	acc[0].f = min;
	acc[1].f = max;
	acc[2].f = sum;
}

static void add_rows(struct extraction *x, union cell *acc, const union cell *rows, unsigned n,
		     bool first)
{
	static void (*const add[])(union cell *, const union cell *, unsigned, unsigned) = {
		[COL_U64] = add_u64,
		[COL_F64] = add_f64,
		[COL_I64] = add_i64,
	};
	unsigned stride = x->cursor->ncols;

	for (unsigned i = 0; i < x->plan.n; i++, acc += 4) {
		const union cell *from = rows + x->cols[i].at;

		if (first)
			acc[0] = acc[1] = *from;
		add[x->cols[i].type](acc, from, n, stride);
	}
}

static double average(const union cell *acc, enum col_type type, uint64_t n)
{
	return n ? cell__number(acc[2], type) / (double)n : 0;
}

/* ElapsedTime, then four of every other column. */
static int put_stock(struct extraction *x, const char *node, const char *step, const char *table,
		     const union cell *acc, union cell elapsed)
{
	unsigned n = 0, max = 4 * x->plan.n + 1;
	_cleanup_free_ union cell *row = calloc(max, sizeof(*row));
	_cleanup_free_ struct text_col *cols = calloc(max, sizeof(*cols));

	if (!row || !cols)
		return -ENOMEM;
	row[n] = elapsed;
	cols[n++] = (struct text_col){0, COL_U64, true, NULL};
	for (unsigned i = 0; i < x->plan.n; i++, acc += 4) {
		enum col_type type = x->cols[i].type;

		if (!strcmp(x->plan.v[i], "ElapsedTime"))
			continue;
		for (unsigned k = 0; k < 4; k++, n++) {
			row[n] = acc[k];
			cols[n] = (struct text_col){(int)n, k < 3 ? type : COL_F64, true, NULL};
		}
		row[n - 1].f = average(acc, type, x->cursor->nrows);
	}
	return put_row(x, node, step, table, cols, row);
}

int totals__stock(struct extraction *x, const char *node, const char *step, const char *table)
{
	struct cursor *c = x->cursor;
	_cleanup_free_ union cell *acc = calloc(4 * x->plan.n + 1, sizeof(*acc));
	int at = cursor__column(c, "ElapsedTime"), err;
	union cell elapsed = {0};
	const union cell *rows;
	bool first = true;
	unsigned n;

	if (!acc)
		return -ENOMEM;
	while ((err = cursor__next(c, &rows, &n)) > 0) {
		add_rows(x, acc, rows, n, first);
		first = false;
		elapsed = rows[(size_t)(n - 1) * c->ncols + (at < 0 ? 0 : (unsigned)at)];
	}
	return err ? err : put_stock(x, node, step, table, acc, elapsed);
}
