/* SPDX-License-Identifier: GPL-2.0-only */
/* What the output has: its columns, and how they are laid out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobfile/extract_internal.h"

int extract__look(struct extraction *x, bool first_only)
{
	int err = 0;

	extract__release(x);
	plan_names__free(&x->plan);
	x->shape = 0;
	x->looking = true;
	x->glance = first_only;
	for (unsigned i = 0; !err && i < x->nrefs && !(first_only && x->plan.begun); i++)
		err = extract__node(x, i);
	x->looking = x->glance = false;
	x->shape = 0;
	return err;
}

static void name_missing_column(struct extraction *x, const struct plan_names *all,
				const char *column)
{
	const char *near = plan_names__nearest(all, column);

	x->result.missing++;
	if (near)
		log_error("%s: series %s has no column \"%s\"; did you mean \"%s\"?", x->path,
			  x->series, column, near);
	else
		log_error("%s: series %s has no column \"%s\"", x->path, x->series, column);
}

/* 0; -EAGAIN: not all wanted columns are there. */
static int choose_columns(struct extraction *x, bool name)
{
	const struct extract_options *o = x->opt;
	struct plan_names all = {0};
	const char *missing;
	int err;

	if (!o->ncolumns || !x->plan.begun)
		return 0;
	err = plan_names__add(&all, x->plan.v, x->plan.n, false);
	missing = err ? NULL
		      : plan_names__choose(&x->plan, o->columns, o->ncolumns,
					   o->totals && !o->stock, &err);
	if (!err && missing) {
		err = name ? 0 : -EAGAIN;
		if (name)
			name_missing_column(x, &all, missing);
	}
	plan_names__free(&all);
	return err;
}

int extract__plan(struct extraction *x, bool first_only)
{
	int err = extract__look(x, first_only);

	if (!err)
		err = choose_columns(x, !first_only);
	if (err == -EAGAIN && first_only)
		return extract__plan(x, false);
	return err;
}

/* What stands in the header of sh5util's totals: names to be freed. */
static int stock_totals(const struct plan_names *of, struct plan_names *out)
{
	static const char *const prefixes[] = {"Min", "Max", "Sum", "Avg"};
	char *name = (char *)"ElapsedTime";
	int err = plan_names__add(out, &name, 1, false);

	for (unsigned i = 0; !err && i < of->n; i++) {
		if (!strcmp(of->v[i], "ElapsedTime"))
			continue;
		for (unsigned k = 0; !err && k < 4; k++) {
			if (asprintf(&name, "%s_%s", prefixes[k], of->v[i]) < 0)
				return -ENOMEM;
			err = plan_names__add(out, &name, 1, false);
			free(name);
		}
	}
	return err;
}

static void widths(struct extraction *x)
{
	struct text *t = &x->text;

	t->step_width = t->node_width = 4;
	for (unsigned i = 0; i < x->nrefs; i++) {
		const struct node_ref *ref = &x->refs[i];
		size_t step = strlen(extract__step(x, ref->step));
		size_t node = strlen(x->r->steps[ref->step].nodes[ref->node]);

		t->step_width = step < 64 && (int)step > t->step_width ? (int)step : t->step_width;
		t->node_width = node < 64 && (int)node > t->node_width ? (int)node : t->node_width;
	}
}

int extract__lay_out(struct extraction *x, struct outbuf *out, const char *blank)
{
	bool stock_form = x->opt->stock && x->opt->totals;
	const struct plan_names *header = stock_form ? &x->header : &x->plan;
	int err;

	plan_names__free(&x->header);
	err = stock_form ? stock_totals(&x->plan, &x->header) : 0;
	free(x->cols);
	x->shape = 0;
	x->cols = calloc(x->plan.n + 1, sizeof(*x->cols));
	if (!err && !x->cols)
		err = -ENOMEM;
	x->text.out = out;
	x->text.names = header->v;
	x->text.ncols = header->n;
	if (!err)
		err = extract__lay_out_units(x);
	x->text.grouped = x->grouped && !(x->opt->stock && x->sel.tasks == &x->one);
	x->text.blank = blank;
	widths(x);
	return err;
}
