/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of the output: collected from all tables, chosen, and laid out as text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobfile/extract/extract_internal.h"

#define COLUMNS_MAX 16384u

static bool is_chosen(const struct extract_options *o, const char *name)
{
	for (unsigned i = 0; i < o->ncolumns; i++)
		if (column_names__is_meant(name, o->columns[i], o->totals && !o->stock))
			return true;
	return false;
}

/* Takes a column; beyond as many as can be side by side, only those that the user chose. */
static int collect_column(struct extraction *x, const char *name)
{
	if (x->columns.n < COLUMNS_MAX || is_chosen(x->opt, name))
		return string_list__append(&x->columns, name);
	if (x->opt->ncolumns)
		return 0;
	log_error("%s: series %s has more columns in all than can be put side by side; "
		  "choose some with --columns",
		  x->path, x->series);
	return -E2BIG;
}

static int collect_columns(struct extraction *x, char *const *names, unsigned n)
{
	struct string_list *c = &x->columns;
	unsigned hint = 0;
	int err = 0;

	if (x->opt->stock && x->has_columns) {
		column_names__keep_common(c, names, n);
		return 0;
	}
	for (unsigned i = 0; !err && i < n; i++)
		if (column_names__find(c->v, c->n, names[i], &hint) < 0)
			err = collect_column(x, names[i]);
	x->has_columns = true;
	return err;
}

/* A column that the first pass has not seen in any table, or not missed, is of a file that has
 * changed since. */
static int locate_columns(struct extraction *x, char *const *names, const struct text_col *cols,
			  unsigned n)
{
	static const struct text_col nothing = {.at = -1};
	unsigned hint = 0, there = 0;

	for (unsigned i = 0; i < x->columns.n; i++) {
		int at = column_names__find(names, n, x->columns.v[i], &hint);

		x->cols[i] = at < 0 ? nothing : cols[at];
		there += at >= 0;
	}
	if (x->opt->stock)
		return there < x->columns.n ? -EBUSY : 0;
	return there < n && !x->opt->ncolumns ? -EBUSY : 0;
}

int extract__map_columns(struct extraction *x, char *const *names, const struct text_col *cols,
			 unsigned n)
{
	return x->collecting ? collect_columns(x, names, n) : locate_columns(x, names, cols, n);
}

int extract__choose_columns(struct extraction *x)
{
	const struct extract_options *o = x->opt;
	struct string_list all = {0};
	const char *missing;
	int err = 0;

	if (!o->ncolumns || !x->has_columns)
		return 0;
	for (unsigned i = 0; !err && i < x->columns.n; i++)
		err = string_list__append(&all, x->columns.v[i]);
	missing = err ? NULL
		      : column_names__choose(&x->columns, o->columns, o->ncolumns,
					     o->totals && !o->stock, &err);
	if (!err && missing)
		extract__name_missing_column(x, &all, missing);
	string_list__free(&all);
	return err;
}

/* Makes the column names in the header of sh5util's totals. */
static int make_stock_header(const struct string_list *of, struct string_list *out)
{
	static const char *const prefixes[] = {"Min", "Max", "Sum", "Avg"};
	int err = string_list__append(out, "ElapsedTime");
	char *name;

	for (unsigned i = 0; !err && i < of->n; i++) {
		if (!strcmp(of->v[i], "ElapsedTime"))
			continue;
		for (unsigned k = 0; !err && k < 4; k++) {
			if (asprintf(&name, "%s_%s", prefixes[k], of->v[i]) < 0)
				return -ENOMEM;
			err = string_list__append(out, name);
			free(name);
		}
	}
	return err;
}

static void measure_names(struct extraction *x)
{
	struct text *t = &x->text;

	t->step_width = t->node_width = 4;
	for (unsigned i = 0; i < x->nrefs; i++) {
		const struct node_ref *ref = &x->refs[i];
		size_t step = strlen(extract__step(x, ref->step));
		size_t node = strlen(x->r->steps[ref->step].nodes.v[ref->node]);

		t->step_width = step < 64 && (int)step > t->step_width ? (int)step : t->step_width;
		t->node_width = node < 64 && (int)node > t->node_width ? (int)node : t->node_width;
	}
}

int extract__lay_out(struct extraction *x, struct outbuf *out, const char *before)
{
	const bool stock_totals = x->opt->stock && x->opt->totals;
	const struct string_list *header = stock_totals ? &x->header : &x->columns;
	int err = stock_totals ? make_stock_header(&x->columns, &x->header) : 0;

	free(x->cols);
	x->shape = 0;
	x->cols = calloc(x->columns.n + 1, sizeof(*x->cols));
	if (!err && !x->cols)
		err = -ENOMEM;
	x->text.out = out;
	x->text.names = header->v;
	x->text.ncols = header->n;
	if (!err)
		err = extract__lay_out_units(x);
	x->text.grouped = x->grouped && !(x->opt->stock && x->sel.tasks == &x->one_task);
	x->text.before = before;
	measure_names(x);
	return err;
}
