/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "jobprof list" of a file: prints its steps, nodes, series and columns, as text or JSON. */
#include "cmd/jobprof/list_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/list_man.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/jobprof/select_args.h"
#include "identity/stepname.h"
#include "model/contents.h"
#include "pool/pool.h"
#include "schema/schema.h"

#define TOTALS "Totals/"
#define WIDTH  80

#define TOTALS "Totals/"

/* What the series is, or "" where the schema does not know it. */
static const char *series_doc(const char *name)
{
	const struct series *known = series__find(name);
	const char *doc = known ? known->doc : series__group_doc(name);

	return doc ? doc : "";
}

/* The series that it is, or sums up. */
static const char *series_of(const struct contents_series *s)
{
	return str__starts(s->name, TOTALS) ? s->name + strlen(TOTALS) : s->name;
}

/* "lowest": which value of its column a column of Totals is; NULL for other columns. */
static const char *aggregate_of(const struct contents_series *s, const struct contents_column *c)
{
	enum aggregate a;

	return series_of(s) != s->name && aggregate__column(c->name, &a) ? aggregate__doc(a) : NULL;
}

static const char *kind_of(const struct contents_series *s, const struct contents_column *c)
{
	const char *aggregate = aggregate_of(s, c);

	if (aggregate)
		return aggregate;
	return c->column.source == COL_UNDESCRIBED ? "?" : list__kind(&c->column);
}

static const char *doc_of(const struct contents_column *c)
{
	return *c->column.doc ? c->column.doc : "not described";
}

static const char *type_name(enum col_type t)
{
	static const char *const names[] = {
		[COL_U64] = "U64", [COL_F64] = "F64", [COL_I64] = "I64"};

	return names[t];
}

static void print_nodes(FILE *out, const struct contents_step *s)
{
	fprintf(out, ": %u node%s", s->nnodes, s->nnodes == 1 ? "" : "s");
	for (unsigned i = 0; i < s->nnodes; i++) {
		fputs(i ? ", " : ": ", out);
		print__escaped(out, s->nodes[i]);
	}
	putc('\n', out);
}

/* 0-3,7 */
static void print_tasks(FILE *out, const struct contents_place *p)
{
	const char *comma = "";

	for (unsigned i = 0, k; i < p->ntasks; i = k + 1) {
		for (k = i; k + 1 < p->ntasks && p->tasks[k + 1] == p->tasks[k] + 1;)
			k++;
		fprintf(out, "%s%" PRIu64, comma, p->tasks[i]);
		if (k > i)
			fprintf(out, "-%" PRIu64, p->tasks[k]);
		comma = ",";
	}
	for (unsigned i = 0; i < p->others.n; i++) {
		fputs(comma, out);
		print__escaped(out, p->others.v[i]);
		comma = ",";
	}
}

static bool is_total(const struct contents_series *s)
{
	return str__starts(s->name, TOTALS);
}

static void print_place(FILE *out, const struct contents *c, const struct contents_place *p)
{
	const struct contents_series *s = &c->series[p->series];

	fputs("  ", out);
	print__escaped(out, s->name);
	fprintf(out, ": %u node%s", p->nodes, p->nodes == 1 ? "" : "s");
	if (s->grouped) {
		fprintf(out, ", %u table%s: ", p->ntasks + p->others.n,
			p->ntasks + p->others.n == 1 ? "" : "s");
		print_tasks(out, p);
	}
	putc('\n', out);
}

/* How many columns from k on are buckets of one histogram, and in as many tables: one line. */
static unsigned count_buckets(const struct contents_series *s, unsigned k)
{
	const struct contents_column *c = &s->cols[k];
	const size_t len = strlen(c->name);
	unsigned n = 0;

	if (!len || c->column.how != HOW_BUCKET)
		return 1;
	while (k + n < s->ncols && c[n].tables == c->tables && c[n].column.type == c->column.type &&
	       str__numbered(c[n].name, c->name, len - 1, n))
		n++;
	return n ? n : 1;
}

/* The n columns from c on, which are buckets if there are several. */
static void print_doc(FILE *out, const struct contents_series *s, const struct contents_column *c,
		      unsigned n)
{
	const char *aggregate = aggregate_of(s, c);
	char doc[160];

	if (c->column.source == COL_UNDESCRIBED) {
		fputs("not known to the schema", out);
		return;
	}
	/* What a table stores of a total does not name the column that is summed up. */
	if (aggregate && c->column.source == COL_BUILTIN)
		fprintf(out, "%s of: ", aggregate);
	print__escaped(out, n > 1 ? list__buckets_as_one(&c->column, &c[n - 1].column, doc).doc
				  : doc_of(c));
}

/* The n columns from k on, which are buckets if there are several. */
static void print_columns(FILE *out, const struct contents_series *s, unsigned k, unsigned n)
{
	const struct contents_column *c = &s->cols[k], *last = &s->cols[k + n - 1];
	const char *unit = *c->column.unit ? c->column.unit : "-";
	size_t len = strlen(c->name);

	fputs("  ", out);
	print__escaped(out, c->name);
	if (n > 1) {
		fprintf(out, "..%s", last->name);
		len += 2 + strlen(last->name);
	}
	fprintf(out, "%*s %-4s ", (int)(len < 18 ? 18 - len : 0), "", type_name(c->column.type));
	len = strlen(unit);
	print__escaped(out, unit);
	fprintf(out, "%*s %-12s ", (int)(len < 4 ? 4 - len : 0), "", kind_of(s, c));
	print_doc(out, s, c, n);
	if (c->tables < s->tables)
		fprintf(out, " (in %u of %u tables looked at)", c->tables, s->tables);
	putc('\n', out);
}

/* The names of the columns, in lines of WIDTH. */
static void print_names(FILE *out, const struct contents_series *s)
{
	size_t at = 0;

	for (unsigned k = 0, n; k < s->ncols; k += n) {
		const char *last = "", *name = s->cols[k].name;
		size_t len;

		n = count_buckets(s, k);
		if (n > 1)
			last = s->cols[k + n - 1].name;
		len = strlen(name) + (n > 1 ? 2 + strlen(last) : 0);
		if (at && at + 2 + len > WIDTH)
			at = 0;
		fputs(!at && k ? "\n  " : at ? " " : "  ", out);
		at += at ? 1 + len : 2 + len;
		print__escaped(out, name);
		fputs(n > 1 ? ".." : "", out);
		print__escaped(out, last);
	}
	putc('\n', out);
}

static void print_series(FILE *out, const struct contents_series *s, bool all)
{
	const struct series *known = series__find(s->name);
	const char *doc = series_doc(s->name);
	const char *tables = known ? series__tables(known) : s->grouped ? "/<task>" : "";

	putc('\n', out);
	print__escaped(out, s->name);
	fprintf(out, "%s%s%s\n", tables, *doc ? ": " : "", doc);
	if (!all) {
		print_names(out, s);
		return;
	}
	for (unsigned k = 0, n; k < s->ncols; k += n) {
		n = count_buckets(s, k);
		print_columns(out, s, k, n);
	}
}

static int print_text(FILE *out, const struct model_file *f, const struct contents *c, bool all)
{
	unsigned totals = 0;

	fprintf(out, "%s%s%s\n", *f->job ? "job " : "no job in the file or its name", f->job,
		f->merged ? "" : ": one node and step");
	for (unsigned i = 0; i < c->nsteps; i++) {
		const struct contents_step *s = &c->steps[i];

		fputs("step ", out);
		print__escaped(out, *s->name ? stepname__human(s->name) : "?");
		print_nodes(out, s);
		for (unsigned k = 0; k < s->nplaces; k++)
			if (all || !is_total(&c->series[s->places[k].series]))
				print_place(out, c, &s->places[k]);
	}
	for (unsigned i = 0; i < c->nseries; i++) {
		bool total = is_total(&c->series[i]);

		totals += total;
		if (all || !total)
			print_series(out, &c->series[i], all);
	}
	if (!all)
		fprintf(out, "\n%sWhat a column means: -a, or -s SERIES\n",
			totals ? "Sums, means and extremes of each series: -s Totals/SERIES\n"
			       : "");
	return 0;
}

static json_t *column_json(const struct contents_series *s, const struct contents_column *c)
{
	json_t *j = json_pack("{s:o, s:s, s:i, s:b}", "name", json__text(c->name), "type",
			      type_name(c->column.type), "tables", (int)c->tables, "known",
			      c->column.source == COL_BUILTIN);

	if (c->column.source == COL_UNDESCRIBED)
		return j;
	json_object_set_new(j, "unit", json__text(c->column.unit));
	json_object_set_new(j, "kind", json_string(kind_of(s, c)));
	json_object_set_new(j, "description", json__text(doc_of(c)));
	json_object_set_new(j, "blind_spot", json_string(c->column.blind));
	return j;
}

static json_t *series_json(const struct contents_series *s)
{
	json_t *cols = json_array();

	for (unsigned i = 0; i < s->ncols; i++)
		json_array_append_new(cols, column_json(s, &s->cols[i]));
	return json_pack("{s:o, s:b, s:s, s:i, s:o}", "name", json__text(s->name), "grouped",
			 s->grouped, "description", series_doc(s->name), "tables", (int)s->tables,
			 "columns", cols);
}

static json_t *place_json(const struct contents *c, const struct contents_place *p)
{
	const struct contents_series *s = &c->series[p->series];
	json_t *j = json_pack("{s:o, s:i}", "name", json__text(s->name), "nodes", (int)p->nodes);
	json_t *tasks, *others;

	if (!s->grouped)
		return j;
	tasks = json_array();
	others = json_array();
	for (unsigned i = 0; i < p->ntasks; i++)
		json_array_append_new(tasks, json_integer((json_int_t)p->tasks[i]));
	for (unsigned i = 0; i < p->others.n; i++)
		json_array_append_new(others, json__text(p->others.v[i]));
	json_object_set_new(j, "tasks", tasks);
	json_object_set_new(j, "other_tables", others);
	return j;
}

static json_t *step_json(const struct contents *c, const struct contents_step *step)
{
	json_t *nodes = json_array(), *places = json_array();

	for (unsigned i = 0; i < step->nnodes; i++)
		json_array_append_new(nodes, json__text(step->nodes[i]));
	for (unsigned i = 0; i < step->nplaces; i++)
		json_array_append_new(places, place_json(c, &step->places[i]));
	return json_pack("{s:o, s:o, s:o}", "step", json__text(stepname__human(step->name)),
			 "nodes", nodes, "series", places);
}

static int print_json(FILE *out, const struct model_file *f, const struct contents *c)
{
	json_t *steps = json_array(), *series = json_array(), *all;
	int err;

	for (unsigned i = 0; i < c->nsteps; i++)
		json_array_append_new(steps, step_json(c, &c->steps[i]));
	for (unsigned i = 0; i < c->nseries; i++)
		json_array_append_new(series, series_json(&c->series[i]));
	all = json_pack("{s:s, s:b, s:o, s:o}", "job", f->job, "merged", f->merged, "steps", steps,
			"series", series);
	err = all ? json__dump(all, out, JSON_INDENT(2)) : -1;
	json_decref(all);
	putc('\n', out);
	return err ? -ENOMEM : 0;
}

static int list_model(const struct model_file *f, const char *path, const struct selection *sel,
		      const char *series, enum list_form form, FILE *out)
{
	struct read_errors errors = {.path = path};
	struct contents *c = NULL;
	bool missing = select_args__missing(f, sel, path);
	int status, err;

	err = contents__read(&c, f, sel, series, false, read_errors__add, &errors);
	if (!err && series && !c->nseries) {
		if (!missing && sel->ntasks)
			log_error("%s: there is no task %" PRIu64 " in series %s", path,
				  sel->tasks->from, series);
		else if (!missing)
			select_args__no_series(f, sel, path, series);
		contents__free(c);
		return 1;
	}
	if (!err)
		err = form == LIST_JSON ? print_json(out, f, c)
					: print_text(out, f, c, form == LIST_ALL || series != NULL);
	if (err)
		log_error("%s: %s", path,
			  err == -E2BIG ? "too many names" : model_file__strerror(err));
	read_errors__end(&errors, false);
	status = err || missing || errors.damaged;
	contents__free(c);
	return status;
}

struct work {
	struct profiles in;
	struct selection sel;
	struct string_list hosts;
	const char *series;
	char name[128]; /* of the series */
	struct number_range task;
	enum list_form form;
	FILE *out;
};

/* Runs in a limited child. */
static int list_path(void *arg)
{
	const struct work *w = arg;
	struct model_file f;
	int status, err = model_file__open(&f, w->in.files->path);

	if (err) {
		log_error("%s: %s", w->in.files->path, model_file__strerror(err));
		return 1;
	}
	status = list_model(&f, w->in.files->path, &w->sel, w->series, w->form, w->out);
	model_file__close(&f);
	return status;
}

/* "Tasks/3" chooses task 3; "Totals/Tasks" is a series here. */
static int choose_series(struct work *w, const char *text)
{
	const size_t len = strlen(TOTALS);
	bool total = !strncasecmp(text, TOTALS, len);
	int64_t task;
	int err = select__series(total ? text + len : text, w->name, sizeof(w->name) - len, &task,
				 &w->sel.table);

	if (err || (total && (task >= 0 || w->sel.table))) {
		log_error("-s: \"%s\" is not the name of a series", text);
		return 2;
	}
	if (total) {
		memmove(w->name + len, w->name, strlen(w->name) + 1);
		memcpy(w->name, TOTALS, len);
	}
	w->series = w->name;
	w->task = (struct number_range){(uint64_t)task, (uint64_t)task};
	w->sel.tasks = &w->task;
	w->sel.ntasks = task >= 0;
	return 0;
}

int list__file(const struct select_words *words, enum list_form form, FILE *out)
{
	struct work w = {.form = form, .out = out};
	int status = words->series ? choose_series(&w, words->series) : 0;

	if (!status)
		status = select_args__nodes(&w.sel, &w.hosts, words->nodes);
	if (!status)
		status = input_args__file(&w.in, words);
	if (!status) {
		w.sel.steps = w.in.files->steps;
		w.sel.nsteps = w.in.files->nsteps;
		status = pool__call_verb(list_path, &w, &POOL_STREAM);
	}
	profiles__free(&w.in);
	string_list__free(&w.hosts);
	return status;
}
