/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extraction: opens the file, and writes one series after the other. */
#include "jobfile/extract/extract.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/read_note.h"
#include "base/str.h"
#include "hdf5/summary.h"
#include "hdf5/table_columns.h"
#include "jobfile/extract/extract_internal.h"

/* ---- totals of tables, computed from their rows as a file stores them (hdf5/summary.h) */

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

static int totals_new(struct totals **out)
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

static void totals_begin_series(struct totals *t)
{
	forget_shape(t);
}

static void totals_free(struct totals *t)
{
	if (!t)
		return;
	forget_shape(t);
	free(t);
}

/* Writes a table's one row. 0 or -ENOMEM. */
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

/* Writes the row of totals of the table that the cursor stands at. 0 or an error of extract__node()
 * or of the cursor. */
static int totals_of_table(struct extraction *x, const char *node, const char *step,
			   const char *table)
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
	return put_row(x, node, step, table, x->cols, t->row);
}

/* ---- what the numbers in the table Marks stand for: attributes of the node */

#define MARKS_MAX 4096

/* a column of numbers that stand for texts, of which each node has its own. */
static bool is_marks(const struct extraction *x, const char *column)
{
	return !x->opt->stock && !x->opt->totals && !strcmp(x->series, "Marks") &&
	       !strcmp(column, "Mark");
}

/* Marks are numbered from 1. */
static int load_marks(struct extraction *x, const struct reader_node *n)
{
	struct reader_attr a;
	char name[32];
	int err = 0;

	string_list__free(&x->marks);
	if (!is_marks(x, "Mark"))
		return 0;
	while (!err && x->marks.n < MARKS_MAX) {
		snprintf(name, sizeof(name), "Mark %u", x->marks.n + 1);
		err = reader__attr(n, name, &a);
		if (!err)
			err = string_list__take(&x->marks, a.type == ATTR_STR ? a.str : strdup(""));
	}
	return err == -ENOMEM ? err : 0;
}

/* ---- totals of tables as sh5util computes them */

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
	return put_row(x, node, step, table, cols, row);
}

/* the same row as sh5util prints it; the columns have been mapped. */
static int totals_of_table_stock(struct extraction *x, const char *node, const char *step,
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

/* ---- one pass over one node: its tables, which the first pass maps and the second one writes */

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
		if (is_marks(x, c->cols[i].name) && cols[i].type == COL_U64)
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
		return totals_of_table(x, n->name, human, name);
	if (!err)
		err = map_table(x);
	if (err || x->collecting)
		return err;
	return x->opt->totals ? totals_of_table_stock(x, n->name, human, name)
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
	err = load_marks(x, n);
	for (unsigned i = 0; !err && i < s->tables.n; i++) {
		if (s->grouped && !select__table(&x->sel, s->tables.v[i]))
			continue;
		mark_tasks_found(x, s, s->tables.v[i]);
		err = read_or_name_table(x, n, ref, s, s->tables.v[i]);
	}
	return err;
}

/* one pass over one node. What cannot be read is logged and counted, by the second
 * pass. 0, or what ends the extraction: -EBUSY (the file changed), -E2BIG (columns), -ENOMEM. */
static int extract__node(struct extraction *x, unsigned ref)
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

/* The first wanted step or node that is not there stands for all. */
static int choose_nodes(struct extraction *x)
{
	char missing[SELECT_MISSING];

	free(x->refs);
	x->refs = NULL;
	if (x->result.all_there && select__missing(x->r, &x->sel, missing)) {
		x->result.all_there = false;
		x->result.missing++;
		log_error("%s: %s", x->path, missing);
	}
	return select__nodes(x->r, &x->sel, &x->refs, &x->nrefs);
}

static int parse_series(struct extraction *x, const char *text)
{
	int64_t task;
	const char *table;
	int err = select__series(text, x->series, sizeof(x->series), &task, &table);

	if (err)
		return err == -ENOMEM ? err : -EINVAL;
	x->sel = x->opt->sel;
	x->sel.table = table;
	if (task >= 0) {
		x->one_task = (struct number_range){(uint64_t)task, (uint64_t)task};
		x->sel.tasks = &x->one_task;
		x->sel.ntasks = 1;
	}
	return 0;
}

static int begin_series(struct extraction *x, const char *series)
{
	int err = parse_series(x, series);

	x->wanted = series;
	if (err == -EINVAL)
		log_error("\"%s\" cannot be the name of a series", series);
	if (!err)
		err = choose_nodes(x);
	if (err)
		return err;
	free(x->lacks);
	free(x->found);
	x->lacks = calloc(x->nrefs + 1, 1);
	x->found = calloc(x->sel.ntasks + 1, 1);
	x->text.series = x->series;
	x->text.begun = false;
	x->shape = 0;
	string_list__free(&x->columns);
	x->has_columns = false;
	string_list__free(&x->header);
	extract__forget_units(x);
	totals_begin_series(x->totals);
	return x->lacks && x->found ? 0 : -ENOMEM;
}

/* One pass over all nodes; `done` of them have been counted before. */
static int read_nodes(struct extraction *x, unsigned done)
{
	int err = 0;

	for (unsigned i = 0; !err && !(x->text.out && x->text.out->err) && i < x->nrefs; i++) {
		err = extract__node(x, i);
		progress__at(&x->progress, done + i + 1);
	}
	return err;
}

static int collect_columns(struct extraction *x)
{
	int err;

	x->collecting = true;
	err = read_nodes(x, 0);
	x->collecting = false;
	return err;
}

static int write_rows(struct extraction *x, struct outbuf *out, const char *before)
{
	int err;

	if (x->has_columns && !x->columns.n)
		return 0;
	err = extract__lay_out(x, out, before);
	return err ? err : read_nodes(x, x->nrefs);
}

static int write_series(struct extraction *x, struct outbuf *out, const char *series,
			const char *before)
{
	const uint64_t tables = x->result.tables, rows = x->result.rows;
	int err = begin_series(x, series);

	if (err)
		return err;
	progress__begin(&x->progress, "extracting", isatty(out->fd) ? 0 : 2 * (uint64_t)x->nrefs);
	err = collect_columns(x);
	if (!err)
		err = extract__choose_columns(x);
	if (!err)
		err = write_rows(x, out, before);
	progress__clear(&x->progress);
	if (!err && x->filter.on && x->result.tables > tables && x->result.rows == rows)
		extract__name_no_rows(x);
	else if (!err)
		extract__name_missing(x, x->result.tables == tables);
	return err;
}

static int write_all_series(struct extraction *x, struct outbuf *out)
{
	const struct extract_options *o = x->opt;
	bool json = o->format == EXTRACT_JSON;
	int err = 0;

	for (unsigned i = 0; !err && !out->err && i < o->nseries; i++) {
		const char *before = x->result.tables ? "\n" : "";

		if (json)
			before = x->text.comma ? "" : "[\n";
		err = write_series(x, out, o->series[i], before);
	}
	if (json && x->text.comma)
		outbuf__str(out, "\n]\n");
	return err;
}

static int open_file(struct extraction *x)
{
	int err;

	read_note__file(x->path);
	err = reader__open(&x->r, x->path);
	if (!err)
		err = cursor__new(&x->cursor);
	if (!err)
		x->cursor->as_stored = x->opt->stock;
	if (!err)
		err = totals_new(&x->totals);
	if (err) {
		log_error("%s: %s", x->path, reader__strerror(err));
		return err;
	}
	x->filter.from = x->opt->from;
	x->filter.to = x->opt->to;
	x->filter.on = x->opt->from.set || x->opt->to.set;
	x->text.format = x->opt->format;
	x->text.keep_nan = x->opt->stock;
	x->text.job = *x->r->job ? x->r->job : NULL;
	x->text.level = x->opt->totals ? "totals" : "timeseries";
	x->result.opened = x->result.all_there = true;
	return 0;
}

static void free_all(struct extraction *x)
{
	totals_free(x->totals);
	cursor__free(x->cursor);
	reader__free(x->r);
	string_list__free(&x->columns);
	string_list__free(&x->header);
	text__free(&x->text);
	extract__forget_units(x);
	string_list__free(&x->marks);
	free(x->refs);
	free(x->cols);
	free(x->lacks);
	free(x->found);
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct extraction x = {.opt = o, .path = path};
	struct outbuf out = {0};
	int err = open_file(&x), end;

	if (!err) {
		err = outbuf__init(&out, fd);
		if (!err)
			err = write_all_series(&x, &out);
		if (err == -ENOMEM)
			log_error("%s: out of memory", path);
		else if (err == -EBUSY)
			log_error("%s: changed while it was read", path);
	}
	end = outbuf__end(&out);
	*result = x.result;
	result->write_error = end;
	free_all(&x);
	return end ? end : err;
}
