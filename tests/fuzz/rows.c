/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows FILE: every cell as a cursor gives it, exactly. A line per column:
 * NODE SERIES/TABLE COLUMN u|i|f VALUE ..., doubles as the hexadecimal number of their bits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/cursor.h"

/* Column by column, in what was read so far. */
struct cells {
	union cell *v;
	uint64_t nrows;
};

static int collect(struct cursor *c, struct cells *out)
{
	const union cell *rows;
	unsigned n;
	int err;

	*out = (struct cells){calloc(c->nrows * c->ncols + 1, sizeof(*out->v)), 0};
	if (!out->v)
		return -1;
	while ((err = cursor__next(c, &rows, &n)) > 0) {
		memcpy(out->v + out->nrows * c->ncols, rows, (size_t)n * c->ncols * sizeof(*rows));
		out->nrows += n;
	}
	return err;
}

static void print_column(const struct cursor *c, const struct cells *cells, unsigned col)
{
	static const char types[] = {[COL_U64] = 'u', [COL_F64] = 'f', [COL_I64] = 'i'};
	enum col_type type = c->cols[col].type;

	printf(" %s %c", c->cols[col].name, types[type]);
	for (uint64_t r = 0; r < cells->nrows; r++) {
		union cell v = cells->v[r * c->ncols + col];

		if (type == COL_I64)
			printf(" %" PRId64, v.i);
		else if (type == COL_U64)
			printf(" %" PRIu64, v.u);
		else
			printf(" %016" PRIx64, v.u);
	}
	putchar('\n');
}

static int print_table(struct cursor *c, const struct reader_node *n, const struct reader_series *s,
		       const char *table)
{
	struct cells cells;
	int err = cursor__open(c, n, s, table);

	if (err)
		return err;
	err = collect(c, &cells);
	for (unsigned i = 0; !err && i < c->ncols; i++) {
		printf("%s %s/%s", n->name, s->name, table);
		print_column(c, &cells, i);
	}
	free(cells.v);
	return err;
}

static int print_node(struct cursor *c, const struct reader *r, unsigned step, unsigned node)
{
	struct reader_node *n;
	int err = reader__node(r, step, node, NULL, &n);

	if (err)
		return err;
	for (unsigned s = 0; !err && s < n->nseries; s++)
		for (unsigned i = 0; !err && i < n->series[s].tables.n; i++)
			err = print_table(c, n, &n->series[s], n->series[s].tables.v[i]);
	reader_node__free(n);
	return err;
}

int main(int argc, char **argv)
{
	struct cursor *c = NULL;
	struct reader *r = NULL;
	int err;

	if (argc != 2)
		return 2;
	err = reader__open(&r, argv[1]);
	if (!err)
		err = cursor__new(&c);
	for (unsigned s = 0; !err && s < r->nsteps; s++)
		for (unsigned i = 0; !err && i < r->steps[s].nodes.n; i++)
			err = print_node(c, r, s, i);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
	cursor__free(c);
	reader__free(r);
	return err != 0;
}
