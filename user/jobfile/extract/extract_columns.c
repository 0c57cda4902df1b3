/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the output: those of all tables, or what these have in common, or what the user
 * chose. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "hdf5/table_columns.h"
#include "jobfile/extract/extract_internal.h"
#include "schema/describe.h"

/* ---- lists of names */

/* Position of a name in names, looked for from *hint on, which is left behind it; -1: none. */
static int find_name(char *const *names, unsigned n, const char *name, unsigned *hint)
{
	for (unsigned k = 0; k < n; k++) {
		unsigned i = *hint + k < n ? *hint + k : *hint + k - n;

		if (strcmp(names[i], name))
			continue;
		*hint = i + 1 < n ? i + 1 : 0;
		return (int)i;
	}
	return -1;
}

/* Removes all names that are not among names[n]. */
static void keep_common(struct string_list *c, char *const *names, unsigned n)
{
	unsigned kept = 0, hint = 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (find_name(names, n, c->v[i], &hint) < 0)
			free(c->v[i]);
		else
			c->v[kept++] = c->v[i];
	}
	c->n = kept;
}

/* "Max_RSS": RSS. */
static const char *base_name(const char *name)
{
	const char *dash = strchr(name, '_');

	return dash ? dash + 1 : name;
}

/* Whether a user who asks for column `wanted`, in any case, may mean `name`: with totals also "RSS"
 * for "Max_RSS". */
static bool is_meant(const char *name, const char *wanted, bool totals)
{
	return !strcasecmp(name, wanted) || (totals && !strcasecmp(base_name(name), wanted));
}

/* Two columns of a user may differ in case alone: then the one that is spelt so is meant. */
static bool is_spelt_so(const struct string_list *c, const char *wanted, bool totals)
{
	for (unsigned k = 0; k < c->n; k++)
		if (!strcmp(c->v[k], wanted) || (totals && !strcmp(base_name(c->v[k]), wanted)))
			return true;
	return false;
}

/* Removes all names that are not wanted, and sorts the rest as wanted[n]. Returns the first wanted
 * name that is not there, or NULL; *err is 0 or -ENOMEM. */
static const char *choose_names(struct string_list *c, const char *const *wanted, unsigned n,
				bool totals, int *err)
{
	struct string_list chosen = {0};
	const char *missing = NULL;

	*err = 0;
	for (unsigned i = 0; i < n; i++) {
		bool exact = is_spelt_so(c, wanted[i], totals), found = false;

		for (unsigned k = 0; !*err && k < c->n; k++) {
			if (!is_meant(c->v[k], wanted[i], totals) ||
			    (exact && !strstr(c->v[k], wanted[i])))
				continue;
			*err = string_list__append(&chosen, c->v[k]);
			found = true;
		}
		if (!found && !missing)
			missing = wanted[i];
	}
	string_list__free(c);
	*c = chosen;
	return missing;
}

/* The one that was most likely meant, or NULL. */
static const char *nearest(const struct string_list *c, const char *word)
{
	const char *best = str__nearest(word, (const char *const *)c->v, c->n);

	for (unsigned i = 0; !best && i < c->n; i++) {
		const char *name = base_name(c->v[i]);

		best = str__nearest(word, &name, 1);
	}
	return best;
}

/* ---- units of the columns that are written: the table says them, or the schema */

static struct column_unit *find_unit(const struct extraction *x, const char *column)
{
	for (unsigned i = 0; i < x->nunits; i++)
		if (!strcmp(x->units[i].column, column))
			return &x->units[i];
	return NULL;
}

static int add_unit(struct extraction *x, const char *column, const char *unit)
{
	struct column_unit *u = find_unit(x, column);

	if (u) {
		if (strcmp(u->unit, unit))
			*u->unit = '\0'; /* tables differ */
		return 0;
	}
	if (room__grow(&x->units, x->nunits, 1, sizeof(*x->units)))
		return -ENOMEM;
	u = &x->units[x->nunits++];
	*u = (struct column_unit){strdup(column), strdup(unit)};
	return u->column && u->unit ? 0 : -ENOMEM;
}

int extract__collect_units(struct extraction *x)
{
	struct table_columns t = {0};
	int err =
		x->opt->units && x->collecting ? table_columns__read(&t, x->cursor, x->series) : 0;

	for (unsigned i = 0; !err && i < t.ncols; i++)
		err = add_unit(x, t.cols[i].name, t.cols[i].unit);
	if (!err && x->opt->units && x->collecting && extract__has_seconds(x))
		err = add_unit(x, EXTRACT_SECONDS, "s");
	table_columns__clear(&t);
	return err;
}

static int lay_out_units(struct extraction *x)
{
	free(x->text.units);
	x->text.units = NULL;
	if (!x->opt->units)
		return 0;
	x->text.units = calloc(x->text.ncols + 1, sizeof(*x->text.units));
	for (unsigned i = 0; x->text.units && i < x->text.ncols; i++) {
		const struct column_unit *u = find_unit(x, x->text.names[i]);
		const char *of = aggregate__column(x->text.names[i], NULL);

		if (!u && of)
			u = find_unit(x, of);
		x->text.units[i] = u ? u->unit : "";
	}
	return x->text.units ? 0 : -ENOMEM;
}

void extract__forget_units(struct extraction *x)
{
	for (unsigned i = 0; i < x->nunits; i++) {
		free(x->units[i].column);
		free(x->units[i].unit);
	}
	free(x->units);
	x->units = NULL;
	x->nunits = 0;
}

/* ---- the columns of the output: collected from all tables, chosen, and laid out as text */

#define COLUMNS_MAX 16384u

static bool is_chosen(const struct extract_options *o, const char *name)
{
	for (unsigned i = 0; i < o->ncolumns; i++)
		if (is_meant(name, o->columns[i], o->totals && !o->stock))
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
		keep_common(c, names, n);
		return 0;
	}
	for (unsigned i = 0; !err && i < n; i++)
		if (find_name(c->v, c->n, names[i], &hint) < 0)
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
		int at = find_name(names, n, x->columns.v[i], &hint);

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

static void name_missing(struct extraction *x, const struct string_list *all, const char *column)
{
	const char *close = nearest(all, column);

	x->result.missing++;
	if (close)
		log_error("%s: series %s has no column \"%s\"; did you mean \"%s\"?", x->path,
			  x->series, column, close);
	else
		log_error("%s: series %s has no column \"%s\"", x->path, x->series, column);
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
		      : choose_names(&x->columns, o->columns, o->ncolumns, o->totals && !o->stock,
				     &err);
	if (!err && missing)
		name_missing(x, &all, missing);
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
		err = lay_out_units(x);
	x->text.grouped = x->grouped && !(x->opt->stock && x->sel.tasks == &x->one_task);
	x->text.before = before;
	measure_names(x);
	return err;
}
