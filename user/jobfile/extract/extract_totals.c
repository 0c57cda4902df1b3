/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of tables, computed from their rows as those are that a file stores (hdf5/summary.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hdf5/summary.h"
#include "hdf5/table_columns.h"
#include "jobfile/extract/extract_internal.h"

/* What the tables of one shape have in common. */
struct totals {
	unsigned shape; /* of the cursor; 0: of none */
	struct table_columns columns;
	struct column *out; /* the columns of the totals */
	unsigned nout;
	bool *unknown; /* per column of the table */
	struct summary_cell *cells;
	union cell *row; /* the totals of a table */
};

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
	*t = (struct totals){0};
}

void totals__begin_series(struct totals *t)
{
	forget_shape(t);
}

void totals__free(struct totals *t)
{
	if (!t)
		return;
	forget_shape(t);
	free(t);
}

int extract__put_row(struct extraction *x, const char *node, const char *step, const char *table,
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
	err = extract__collect_units(x);
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

static int map_columns(struct extraction *x)
{
	struct totals *t = x->totals;
	_cleanup_free_ struct text_col *cols = calloc(t->nout + 1, sizeof(*cols));
	_cleanup_free_ char **names = calloc(t->nout + 1, sizeof(*names));

	if (!cols || !names)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nout; i++) {
		names[i] = (char *)t->out[i].name;
		cols[i] = (struct text_col){.at = (int)i, .type = COL_F64, .there = true};
	}
	return extract__map_columns(x, names, cols, t->nout);
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

int totals__of_table(struct extraction *x, const char *node, const char *step, const char *table)
{
	struct cursor *c = x->cursor;
	struct totals *t = x->totals;
	const union cell *rows;
	unsigned n;
	int err = learn_shape(x);

	if (!err)
		err = map_columns(x);
	if (err || x->collecting)
		return err;
	memset(t->cells, 0, c->ncols * sizeof(*t->cells));
	for (unsigned i = 0; i < c->ncols; i++)
		t->unknown[i] = c->cols[i].unknown;
	while ((err = cursor__next(c, &rows, &n)) > 0)
		sum_rows(x, rows, n);
	if (err)
		return err;
	summary__fill(t->cells, t->columns.cols, c->ncols, false, 0, t->row);
	return extract__put_row(x, node, step, table, x->cols, t->row);
}
