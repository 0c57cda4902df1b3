/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of tables as sh5util computes them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "jobfile/extract/extract_internal.h"

/* Adds the n values of one column. The sum is in the column's type, and wraps around as it does
 * there. */
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

static void add_rows(const struct extraction *x, union cell *acc, const union cell *rows,
		     unsigned n, bool first)
{
	static void (*const add[])(union cell *, const union cell *, unsigned, unsigned) = {
		[COL_U64] = add_u64,
		[COL_F64] = add_f64,
		[COL_I64] = add_i64,
	};
	unsigned stride = x->cursor->ncols;

	for (unsigned i = 0; i < x->columns.n; i++, acc += 4) {
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
static int put_totals(struct extraction *x, const char *node, const char *step, const char *table,
		      const union cell *acc, union cell elapsed)
{
	unsigned n = 0, max = 4 * x->columns.n + 1;
	_cleanup_free_ union cell *row = calloc(max, sizeof(*row));
	_cleanup_free_ struct text_col *cols = calloc(max, sizeof(*cols));

	if (!row || !cols)
		return -ENOMEM;
	row[n] = elapsed;
	cols[n++] = (struct text_col){.type = COL_U64, .there = true};
	for (unsigned i = 0; i < x->columns.n; i++, acc += 4) {
		enum col_type type = x->cols[i].type;

		if (!strcmp(x->columns.v[i], "ElapsedTime"))
			continue;
		for (unsigned k = 0; k < 4; k++, n++) {
			row[n] = acc[k];
			cols[n] = (struct text_col){
				.at = (int)n, .type = k < 3 ? type : COL_F64, .there = true};
		}
		row[n - 1].f = average(acc, type, x->cursor->nrows);
	}
	return extract__put_row(x, node, step, table, cols, row);
}

int totals__of_table_stock(struct extraction *x, const char *node, const char *step,
			   const char *table)
{
	struct cursor *c = x->cursor;
	_cleanup_free_ union cell *acc = calloc(4 * x->columns.n + 1, sizeof(*acc));
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
	return err ? err : put_totals(x, node, step, table, acc, elapsed);
}
