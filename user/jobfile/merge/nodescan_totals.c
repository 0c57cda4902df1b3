/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of a node that has none, from the rows of its tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5util.h"
#include "hdf5/summary.h"
#include "hdf5/table_columns.h"
#include "jobfile/merge/nodescan_internal.h"

/* One table on its way to a row of totals. */
struct sum {
	struct table_columns columns;
	bool *unknown;
	struct summary_cell *cells;
	unsigned ncols;
	unsigned shape;
	int elapsed, epoch; /* columns, or below 0 */
};

static void sum_free(struct sum *s)
{
	table_columns__clear(&s->columns);
	free(s->unknown);
	free(s->cells);
	*s = (struct sum){0};
}

static int sum_begin(struct sum *s, const struct cursor *c, const char *series)
{
	int err;

	/* What a table stores of its columns may differ from table to table. */
	if (s->columns.builtin && s->shape == c->shape) {
		memset(s->cells, 0, s->ncols * sizeof(*s->cells));
		return 0;
	}
	sum_free(s);
	s->unknown = calloc(c->ncols, sizeof(*s->unknown));
	s->cells = calloc(c->ncols, sizeof(*s->cells));
	if (!s->unknown || !s->cells)
		return -ENOMEM;
	err = table_columns__read(&s->columns, c, series);
	if (err)
		return err;
	s->ncols = c->ncols;
	s->shape = c->shape;
	s->elapsed = cursor__column(c, "ElapsedTime");
	s->epoch = cursor__column(c, "EpochTime");
	for (unsigned i = 0; i < c->ncols; i++)
		s->unknown[i] = c->cols[i].unknown;
	return 0;
}

/* Slurm's files say when the step began only in the difference of two columns. */
static void take_times(struct node_info *f, const struct sum *sum, const union cell *row,
		       bool first)
{
	const int elapsed = sum->elapsed, epoch = sum->epoch;

	if (elapsed < 0 || epoch < 0 || row[epoch].u > INT64_MAX || row[elapsed].u > row[epoch].u)
		return;
	if (first && f->start_s < 0)
		f->start_s = (int64_t)(row[epoch].u - row[elapsed].u);
	if (!first && (int64_t)row[epoch].u > f->end_s)
		f->end_s = (int64_t)row[epoch].u;
}

static int sum_rows(struct nodescanner *s, struct sum *sum)
{
	struct cursor *c = s->cursor;
	const union cell *rows;
	bool first = true;
	unsigned n;
	int err;

	while ((err = cursor__next(c, &rows, &n)) > 0) {
		if (!n)
			continue;
		if (first)
			take_times(&s->scan.info, sum, rows, true);
		first = false;
		summary__rows(sum->cells, sum->columns.cols, sum->unknown, sum->ncols, rows, n);
		take_times(&s->scan.info, sum, rows + (size_t)(n - 1) * c->ncols, false);
	}
	return err;
}

/* The first table decides on the columns; another shape would need another table. */
static int add_row(struct nodescan_total *t, const struct sum *s, const struct reader_series *from,
		   unsigned table)
{
	struct column *cols;
	unsigned ncols;
	bool same;
	int err = summary__columns(s->columns.cols, s->ncols, from->grouped, &cols, &ncols);

	if (err)
		return err;
	same = !t->cols || t->ncols == ncols;
	for (unsigned i = 0; same && t->cols && i < ncols; i++)
		same = !strcmp(t->cols[i].name, cols[i].name);
	if (!t->cols) {
		t->cols = cols;
		t->ncols = ncols;
		t->rows = calloc((size_t)from->tables.n * ncols + 1, sizeof(*t->rows));
	} else {
		summary__free_columns(cols, ncols);
	}
	if (!t->rows)
		return -ENOMEM;
	t->mixed |= !same;
	if (same)
		summary__fill(s->cells, s->columns.cols, s->ncols, from->grouped,
			      summary__task_number(from->tables.v[table], table),
			      t->rows + (size_t)t->nrows++ * t->ncols);
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const union cell *x = a, *y = b;

	return x->u < y->u ? -1 : x->u > y->u;
}

/* Digests the whole table, which fails where the cursor has left out a column that no profile has,
 * or damaged rows. */
static int check_table(struct nodescanner *s, hid_t group, const struct reader_series *from,
		       const char *table)
{
	struct digest_table t;
	hid_t dset;
	char *path;
	int err;

	if (asprintf(&path, "%s%s%s", from->name, from->grouped ? "/" : "",
		     from->grouped ? table : "") < 0)
		return -ENOMEM;
	dset = digester__open_table(s->digester, group, path);
	free(path);
	if (dset < 0)
		return -EBADMSG;
	err = digester__table(s->digester, dset, s->file_size, &t);
	H5Dclose(dset);
	return err;
}

static const char *trouble_of(int err)
{
	if (h5__missing_filter(err))
		return reader__strerror(err);
	switch (err) {
	case -EMSGSIZE:
		return "claims more rows than the file can hold";
	case -ENODATA:
		return "has rows that were never written";
	case -ENOTSUP:
		return "has no column of numbers";
	default:
		return "rows that cannot be decoded";
	}
}

static int total_series(struct nodescanner *s, const struct reader_node *node,
			const struct reader_series *from, struct nodescan_total *t)
{
	struct sum sum = {0};
	int err = 0;

	t->name = strdup(from->name);
	if (!t->name)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < from->tables.n; i++) {
		err = cursor__open(s->cursor, node, from, from->tables.v[i]);
		if (!err && s->cursor->others)
			err = check_table(s, node->group, from, from->tables.v[i]);
		if (!err && s->cursor->chunks > s->scan.info.chunks)
			s->scan.info.chunks = s->cursor->chunks;
		if (!err)
			err = sum_begin(&sum, s->cursor, from->name);
		if (!err)
			err = sum_rows(s, &sum);
		if (!err && s->cursor->gaps)
			err = check_table(s, node->group, from, from->tables.v[i]);
		if (!err)
			err = add_row(t, &sum, from, i);
		if (err && err != -ENOMEM)
			err = nodescan__fail(&s->scan, -EBADMSG, from->grouped ? from->name : NULL,
					     from->tables.v[i], trouble_of(err));
	}
	if (!err && from->grouped && t->nrows && t->ncols)
		qsort(t->rows, t->nrows, t->ncols * sizeof(*t->rows), by_task);
	sum_free(&sum);
	return err;
}

int nodescan__totals(struct nodescanner *s, hid_t group, struct nodescan_total **out, unsigned *n)
{
	const struct nodescan *scan = &s->scan;
	struct reader_node node = {
		.group = group,
		.path = (char *)"",
		.file_bytes = s->file_size,
		.unknown = scan->unknown,
		.is_slurms = reader__is_slurms(group),
	};
	int err = 0;

	nodescan_totals__clear(s);
	s->totals = calloc(scan->nseries + 1, sizeof(*s->totals));
	if (!s->totals)
		return -ENOMEM;
	for (unsigned i = 0; !err && i < scan->nseries; i++)
		err = total_series(s, &node, &scan->series[i], &s->totals[s->ntotals++]);
	cursor__close(s->cursor);
	*out = s->totals;
	*n = s->ntotals;
	return err;
}
