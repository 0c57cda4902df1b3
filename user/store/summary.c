/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void summary__row(struct summary_cell *cells, const struct column *cols, const bool *unknown,
		  unsigned ncols, const union cell *row)
{
	for (unsigned i = 0; i < ncols; i++) {
		struct summary_cell *c = &cells[i];
		double v = cell__number(row[i], cols[i].type);

		if (isnan(v) || unknown[i])
			continue;
		if (!c->n || v < c->min)
			c->min = v;
		if (!c->n || v > c->max)
			c->max = v;
		c->sum += v;
		c->last = v;
		c->n++;
	}
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
	for (unsigned i = 0; !err && i < ncols; i++) {
		if (cols[i].kind == COL_TIME)
			continue;
		err = add_column(c, n, "Min", &cols[i]);
		if (!err)
			err = add_column(c, n, "Max", &cols[i]);
		if (!err)
			err = add_column(c, n, "Avg", &cols[i]);
		if (!err && cols[i].kind == COL_DELTA)
			err = add_column(c, n, "Sum", &cols[i]);
		if (!err && cols[i].kind == COL_CUMULATIVE)
			err = add_column(c, n, "Last", &cols[i]);
	}
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

		if (cols[i].kind == COL_TIME)
			continue;
		(out++)->f = c->n ? c->min : NAN;
		(out++)->f = c->n ? c->max : NAN;
		(out++)->f = c->n ? c->sum / c->n : NAN;
		if (cols[i].kind == COL_DELTA)
			(out++)->f = c->n ? c->sum : NAN;
		else if (cols[i].kind == COL_CUMULATIVE)
			(out++)->f = c->n ? c->last : NAN;
	}
}
