/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Minimum, maximum, mean, sum and last value of a table's columns, and the columns of Totals. */
#include "hdf5/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "schema/describe.h"

__extension__ typedef __int128 wide;

/* Numbers as they are; they have no NaN. Signed ones keep their order as unsigned ones with the
 * highest bit flipped. */
static inline void add_integers(struct summary_cell *c, const union cell *at, unsigned n,
				unsigned stride, enum col_type type)
{
	const uint64_t flip = type == COL_I64 ? UINT64_C(1) << 63 : 0;
	uint64_t min = UINT64_MAX, max = 0;
	double low, high;
	wide sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t v = at[(size_t)i * stride].u ^ flip;

		min = v < min ? v : min;
		max = v > max ? v : max;
		sum += v;
	}
	low = cell__number((union cell){.u = min ^ flip}, type);
	high = cell__number((union cell){.u = max ^ flip}, type);
	c->min = low < c->min ? low : c->min;
	c->max = high > c->max ? high : c->max;
	c->sum += (double)(sum - (wide)n * flip);
	c->last = cell__number(at[(size_t)(n - 1) * stride], type);
	c->n += n;
}

static void add_doubles(struct summary_cell *to, const union cell *at, unsigned n, unsigned stride)
{
	struct summary_cell c = *to;

	for (; n; n--, at += stride) {
		double v = at->f;

		if (isnan(v))
			continue;
		c.min = v < c.min ? v : c.min;
		c.max = v > c.max ? v : c.max;
		c.sum += v;
		c.last = v;
		c.n++;
	}
	*to = c;
}

/* Memory and clock of rows in which no process lived: Slurm's columns have no NaN. */
static bool zero_is_none(const struct column *c)
{
	return c->type == COL_U64 &&
	       (c->how == HOW_RSS || c->how == HOW_GAUGE || c->how == HOW_FREQ);
}

/* The stretches without a zero. */
static void add_nonzero(struct summary_cell *c, const union cell *at, unsigned n, unsigned stride)
{
	unsigned from = 0;

	for (unsigned i = 0; i <= n; i++) {
		if (i < n && at[(size_t)i * stride].u)
			continue;
		if (i > from)
			add_integers(c, &at[(size_t)from * stride], i - from, stride, COL_U64);
		from = i + 1;
	}
}

/* A column's values are stride cells apart; n of them, at least one. */
static void add_values(struct summary_cell *c, const union cell *at, unsigned n, unsigned stride,
		       const struct column *col)
{
	if (!c->n) {
		c->min = INFINITY;
		c->max = -INFINITY;
	}
	switch (col->type) {
	case COL_U64:
		if (zero_is_none(col))
			add_nonzero(c, at, n, stride);
		else
			add_integers(c, at, n, stride, COL_U64);
		break;
	case COL_I64:
		add_integers(c, at, n, stride, COL_I64);
		break;
	case COL_F64:
		add_doubles(c, at, n, stride);
		break;
	}
}

void summary__rows(struct summary_cell *cells, const struct column *cols, const bool *unknown,
		   unsigned ncols, const union cell *rows, unsigned n)
{
	for (unsigned i = 0; n && i < ncols; i++)
		if (!unknown[i])
			add_values(&cells[i], &rows[i], n, ncols, &cols[i]);
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

static double (*const values[AGGREGATES])(const struct summary_cell *c) = {
	[AGGREGATE_MIN] = cell_min, [AGGREGATE_MAX] = cell_max,	  [AGGREGATE_AVG] = cell_mean,
	[AGGREGATE_SUM] = cell_sum, [AGGREGATE_LAST] = cell_last,
};

static bool is_column(const struct column *cols, unsigned ncols, const char *name, size_t len)
{
	for (unsigned i = 0; i < ncols; i++)
		if (!strncmp(cols[i].name, name, len) && !cols[i].name[len])
			return true;
	return false;
}

/* Whether c is bucket k of the histogram of that first one; len: of what their names share. */
static bool is_bucket(const struct column *c, const struct column *first, size_t len, unsigned k)
{
	return c->how == HOW_BUCKET && c->kind == first->kind &&
	       str__numbered(c->name, first->name, len, k);
}

/* How many columns from here on are taken together. */
static unsigned run_length(const struct column *cols, unsigned ncols, unsigned at)
{
	const struct column *first = &cols[at];
	size_t len = strlen(first->name);
	unsigned n = 0;

	if (first->how != HOW_BUCKET || !len--)
		return 1;
	while (at + n < ncols && is_bucket(&cols[at + n], first, len, n))
		n++;
	/* An array has the name without the number, which no other may have. */
	return n < 2 || is_column(cols, ncols, first->name, len) ? 1 : n;
}

/* A stretch of the row: one value of n columns. */
struct stretch {
	unsigned first, n, aggregate;
};

#define STRETCH_BEGIN ((struct stretch){0, 0, AGGREGATES})

static bool next_stretch(const struct column *cols, unsigned ncols, struct stretch *s)
{
	do {
		if (++s->aggregate < AGGREGATES)
			continue;
		s->first += s->n;
		s->aggregate = 0;
		if (s->first == ncols)
			return false;
		s->n = run_length(cols, ncols, s->first);
	} while (!aggregate__is_of(s->aggregate, cols[s->first].kind));
	return true;
}

/* Joins two strings ten times as fast as asprintf() does. */
static char *joined(const char *prefix, const char *name)
{
	const size_t before = strlen(prefix), len = strlen(name);
	char *s = malloc(before + len + 1);

	if (!s)
		return NULL;
	memcpy(s, prefix, before);
	memcpy(s + before, name, len + 1);
	return s;
}

static int add_column(struct column *out, unsigned *n, enum aggregate a, const struct column *of)
{
	char *name = joined(aggregate__prefix(a), of->name);

	if (!name)
		return -ENOMEM;
	out[(*n)++] = (struct column){
		.name = name,
		.type = COL_F64,
		.unit = of->unit,
		.kind = of->kind,
		.doc = aggregate__doc(a),
	};
	return 0;
}

static int add_stretch(struct column *out, unsigned *n, const struct column *cols,
		       const struct stretch *s)
{
	const unsigned first = *n;
	int err = 0;

	for (unsigned i = 0; !err && i < s->n; i++)
		err = add_column(out, n, s->aggregate, &cols[s->first + i]);
	if (!err && s->n > 1)
		out[first].array = s->n;
	return err;
}

int summary__columns(const struct column *cols, unsigned ncols, bool grouped, struct column **out,
		     unsigned *n)
{
	struct column *c = calloc(4 * ncols + 1, sizeof(*c));
	struct stretch s = STRETCH_BEGIN;
	int err = c ? 0 : -ENOMEM;

	*n = 0;
	if (!err && grouped) {
		c[0] = (struct column){
			.name = strdup("Task"),
			.type = COL_U64,
			.unit = "",
			.kind = COL_GAUGE,
			.doc = "task",
		};
		err = c[(*n)++].name ? 0 : -ENOMEM;
	}
	while (!err && next_stretch(cols, ncols, &s))
		err = add_stretch(c, n, cols, &s);
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
	struct stretch s = STRETCH_BEGIN;

	if (grouped)
		(out++)->u = task;
	while (next_stretch(cols, ncols, &s)) {
		for (unsigned i = s.first; i < s.first + s.n; i++)
			(out++)->f = cells && cells[i].n ? values[s.aggregate](&cells[i]) : NAN;
	}
}

uint64_t summary__task_number(const char *name, unsigned position)
{
	uint64_t task;

	return parse_u64(name, &task) ? position : task;
}
