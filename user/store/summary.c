/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column's values are stride cells apart. */
static inline void add_values(struct summary_cell *to, const union cell *at, unsigned n,
			      unsigned stride, enum col_type type)
{
	struct summary_cell c = *to;

	if (!c.n) {
		c.min = INFINITY;
		c.max = -INFINITY;
	}
	for (; n; n--, at += stride) {
		double v = cell__number(*at, type);

		if (isnan(v))
			continue;
		c.min = v < c.min ? v : c.min;
		c.max = v > c.max ? v : c.max;
		c.sum += v;
		c.last = v;
		c.n++;
	}
	if (c.n)
		*to = c;
}

void summary__rows(struct summary_cell *cells, const struct column *cols, const bool *unknown,
		   unsigned ncols, const union cell *rows, unsigned n)
{
	for (unsigned i = 0; i < ncols; i++) {
		if (unknown[i])
			continue;
		switch (cols[i].type) {
		case COL_U64:
			add_values(&cells[i], &rows[i], n, ncols, COL_U64);
			break;
		case COL_I64:
			add_values(&cells[i], &rows[i], n, ncols, COL_I64);
			break;
		case COL_F64:
			add_values(&cells[i], &rows[i], n, ncols, COL_F64);
			break;
		}
	}
}

static bool of_any(const struct column *c)
{
	return c->how != HOW_BUCKET;
}

static bool of_delta(const struct column *c)
{
	return c->kind == COL_DELTA;
}

static bool of_cumulative(const struct column *c)
{
	return c->kind == COL_CUMULATIVE;
}

static double cell_min(const struct summary_cell *c)
{
	return c->min;
}

static double cell_max(const struct summary_cell *c)
{
	return c->max;
}

static double cell_mean(const struct summary_cell *c)
{
	return c->sum / (double)c->n;
}

static double cell_sum(const struct summary_cell *c)
{
	return c->sum;
}

static double cell_last(const struct summary_cell *c)
{
	return c->last;
}

/* What there is of a column, in this order. */
static const struct {
	const char *prefix;
	bool (*has)(const struct column *c);
	double (*value)(const struct summary_cell *c);
} members[] = {
	{"Min", of_any, cell_min},   {"Max", of_any, cell_max},		 {"Avg", of_any, cell_mean},
	{"Sum", of_delta, cell_sum}, {"Last", of_cumulative, cell_last},
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static bool has_member(const struct column *c, unsigned m)
{
	return c->kind != COL_TIME && members[m].has(c);
}

static int add_column(struct column *out, unsigned *n, const char *prefix, const struct column *of)
{
	char *name;

	if (asprintf(&name, "%s_%s", prefix, of->name) < 0)
		return -ENOMEM;
	out[(*n)++] = (struct column){.name = name, .type = COL_F64, .unit = of->unit};
	return 0;
}

int summary__columns(const struct column *cols, unsigned ncols, bool grouped, struct column **out,
		     unsigned *n)
{
	struct column *c = calloc(4 * ncols + 1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	*n = 0;
	if (!err && grouped) {
		c[0] = (struct column){.name = strdup("Task"), .type = COL_U64, .unit = ""};
		err = c[(*n)++].name ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; i < ncols; i++)
		for (unsigned m = 0; !err && m < N_MEMBERS; m++)
			if (has_member(&cols[i], m))
				err = add_column(c, n, members[m].prefix, &cols[i]);
	if (err) {
		summary__free_columns(c, *n);
		return err;
	}
	*out = c;
	return 0;
}

void summary__free_columns(struct column *cols, unsigned n)
{
	for (unsigned i = 0; cols && i < n; i++)
		free((char *)cols[i].name);
	free(cols);
}

void summary__fill(const struct summary_cell *cells, const struct column *cols, unsigned ncols,
		   bool grouped, uint64_t task, union cell *out)
{
	static const struct summary_cell none;

	if (grouped)
		(out++)->u = task;
	for (unsigned i = 0; i < ncols; i++) {
		const struct summary_cell *c = cells ? &cells[i] : &none;

		for (unsigned m = 0; m < N_MEMBERS; m++)
			if (has_member(&cols[i], m))
				(out++)->f = c->n ? members[m].value(c) : NAN;
	}
}
