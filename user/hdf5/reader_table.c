/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one table of a file into memory as a whole. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/table_columns.h"
#include "hdf5/cursor.h"

#define CELLS_MAX (UINT64_C(512) << 20) /* a cell may be a single byte in the file */

static int describe_columns(const struct cursor *c, const char *series, struct table *t)
{
	int err;

	t->names = calloc(c->ncols, sizeof(*t->names));
	t->columns = calloc(1, sizeof(*t->columns));
	if (!t->names || !t->columns)
		return -ENOMEM;
	err = table_columns__read(t->columns, c, series);
	for (; !err && t->ncols < c->ncols; t->ncols++) {
		t->names[t->ncols] = strdup(c->cols[t->ncols].name);
		if (!t->names[t->ncols])
			return -ENOMEM;
		t->columns->cols[t->ncols].name = t->names[t->ncols];
	}
	t->cols = t->columns->cols;
	return err;
}

static void copy_rows(const struct cursor *c, const union cell *rows, uint64_t at, unsigned n,
		      struct table *t)
{
	for (unsigned i = 0; i < t->ncols; i++) {
		double *to = t->cells + i * t->nrows + at;

		for (unsigned k = 0; k < n; k++)
			to[k] = c->cols[i].unknown ? NAN
						   : cell__number(rows[(size_t)k * t->ncols + i],
								  c->cols[i].type);
	}
}

static int read_cells(struct cursor *c, struct table *t)
{
	const union cell *rows;
	uint64_t at = 0;
	unsigned n;
	int err;

	if (c->nrows > CELLS_MAX / c->ncols)
		return -EMSGSIZE;
	t->nrows = c->nrows;
	t->cells = calloc(t->nrows * t->ncols + 1, sizeof(*t->cells));
	if (!t->cells)
		return -ENOMEM;
	while ((err = cursor__next(c, &rows, &n)) > 0) {
		copy_rows(c, rows, at, n, t);
		at += n;
	}
	return err;
}

int reader__table(const struct reader_node *n, const struct reader_series *s, const char *table,
		  struct table **out)
{
	struct table *t = calloc(1, sizeof(*t));
	struct cursor *c = NULL;
	int err = t ? cursor__new(&c) : -ENOMEM;

	if (!err)
		err = cursor__open(c, n, s, table);
	if (!err)
		err = describe_columns(c, s->name, t);
	if (!err)
		err = read_cells(c, t);
	cursor__free(c);
	if (err) {
		table__free(t);
		return err;
	}
	*out = t;
	return 0;
}

const double *table__column(const struct table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncols; i++)
		if (!strcmp(t->names[i], name))
			return t->cells + i * t->nrows;
	return NULL;
}

void table__free(struct table *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->ncols; i++)
		free(t->names[i]);
	if (t->columns)
		table_columns__clear(t->columns);
	free(t->columns);
	free(t->names);
	free(t->cells);
	free(t);
}
