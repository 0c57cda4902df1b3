/* SPDX-License-Identifier: GPL-2.0-only */
#include "store/extract.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "job/stepname.h"
#include "store/extract_internal.h"

#define THREADS_DEFAULT 8
#define BYTES_EACH	(4u << 20) /* of the file, that a process more is worth */

static int open_reader(struct extraction *x)
{
	int err = reader__open(&x->r, x->path);

	if (err)
		log_error("%s: %s", x->path, reader__strerror(err));
	return err;
}

/* The first one that is not there stands for all. */
static int choose_nodes(struct extraction *x)
{
	char what[SELECT_MISSING];

	free(x->refs);
	x->refs = NULL;
	if (x->result.all_there && select__missing(x->r, &x->sel, what)) {
		x->result.all_there = false;
		x->result.missing++;
		log_error("%s: %s", x->path, what);
	}
	return select__nodes(x->r, &x->sel, &x->refs, &x->nrefs);
}

/* Folds the columns of all tables, or of the first one, into the plan. */
static int look(struct extraction *x, bool first_only)
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

/* Whether what was written to fd can be taken back. */
static bool can_restart(int fd, off_t *at)
{
	struct stat st;

	*at = lseek(fd, 0, SEEK_CUR);
	return !fstat(fd, &st) && S_ISREG(st.st_mode) && *at == st.st_size;
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

/* The first table's columns do for now where the output can be begun again. */
static int plan(struct extraction *x, bool first_only)
{
	int err = look(x, first_only);

	if (!err)
		err = choose_columns(x, !first_only);
	if (err == -EAGAIN && first_only)
		return plan(x, false);
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

static unsigned processes(const struct extraction *x)
{
	unsigned max = x->opt->threads, work;
	struct stat st;

	if (!max) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		work = stat(x->path, &st) ? 1 : (unsigned)(st.st_size / BYTES_EACH);
		max = cores < THREADS_DEFAULT ? (unsigned)cores : THREADS_DEFAULT;
		max = work < max ? work : max;
	}
	max = max > EXTRACT_THREADS_MAX ? EXTRACT_THREADS_MAX : max;
	return max > x->nrefs ? x->nrefs : max;
}

/* All rows, with the plan as it is. */
static int write_all(struct extraction *x, struct outbuf *out, const char *blank)
{
	struct plan_names names = {0}, *header = &x->plan;
	bool stock_form = x->opt->stock && x->opt->totals;
	unsigned nprocs = processes(x);
	int err = stock_form ? stock_totals(&x->plan, &names) : 0;

	free(x->cols);
	x->cols = calloc(x->plan.n + 1, sizeof(*x->cols));
	if (!err && !x->cols)
		err = -ENOMEM;
	if (stock_form)
		header = &names;
	x->text.out = out;
	x->text.names = header->v;
	x->text.ncols = header->n;
	x->text.grouped = x->grouped && !(x->opt->stock && x->sel.tasks == &x->one);
	x->text.blank = blank;
	widths(x);
	progress__begin(&x->progress, "extracting", isatty(out->fd) ? 0 : x->nrefs);
	if (!err && nprocs > 1)
		err = extract__parallel(x, nprocs);
	for (unsigned i = 0; nprocs <= 1 && !err && !out->err && i < x->nrefs; i++) {
		err = extract__node(x, i);
		progress__at(&x->progress, i + 1);
	}
	progress__clear(&x->progress);
	plan_names__free(&names);
	return err;
}

/* As one line: which nodes do not have the series. */
static void name_lacking(struct extraction *x)
{
	char text[512] = "";
	size_t len = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < x->nrefs; i++) {
		const struct node_ref *ref = &x->refs[i];

		if (!x->lacks[i])
			continue;
		if (++n <= 8 && len < 300)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s/%.40s",
						n > 1 ? ", " : "", extract__step(x, ref->step),
						x->r->steps[ref->step].nodes[ref->node]);
		len = len < sizeof(text) ? len : sizeof(text) - 1;
	}
	x->result.lacking += n;
	if (n && n < x->nrefs)
		log_warn("%s: no series %s on %u of %u nodes: %s%s", x->path, x->series, n,
			 x->nrefs, text, n > 8 ? ", ..." : "");
}

/* Nobody has it: what was meant, by the first node. */
static void name_missing_series(struct extraction *x)
{
	const char *names[256], *near = NULL;
	struct reader_node *node;
	unsigned n = 0;

	if (!reader__node(x->r, x->refs[0].step, x->refs[0].node, NULL, &node)) {
		for (; n < node->nseries && n < 256; n++)
			names[n] = node->series[n].name;
		near = str__nearest(x->series, names, n);
		if (near)
			log_error("%s: there is no series \"%s\"; did you mean \"%s\"?", x->path,
				  x->series, near);
		reader_node__free(node);
	}
	if (!near)
		log_error("%s: there is no series \"%s\"", x->path, x->series);
}

static void name_problems(struct extraction *x, uint64_t tables_before)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < x->nrefs; i++)
		lacking += x->lacks[i];
	if (x->nrefs && lacking == x->nrefs) {
		x->result.missing++;
		name_missing_series(x);
		return;
	}
	name_lacking(x);
	for (unsigned i = 0; i < x->sel.ntasks; i++) {
		const struct number_range *r = &x->sel.tasks[i];

		if (x->found[i] || !x->nrefs)
			continue;
		x->result.missing++;
		if (r->from == r->to)
			log_error("%s: series %s has no task %llu", x->path, x->series,
				  (unsigned long long)r->from);
		else
			log_error("%s: series %s has no task from %llu to %llu", x->path, x->series,
				  (unsigned long long)r->from, (unsigned long long)r->to);
	}
	if (x->result.tables == tables_before && !x->result.damaged && !x->result.missing)
		log_error("%s: nothing of series %s is there", x->path, x->series);
}

static int parse_series(struct extraction *x, const char *text)
{
	int64_t task;
	int err = select__series(text, x->series, sizeof(x->series), &task);

	if (err) {
		log_error("\"%s\" cannot be the name of a series", text);
		return err == -ENOMEM ? err : -EINVAL;
	}
	x->sel = x->opt->sel;
	if (task >= 0) {
		x->one = (struct number_range){(uint64_t)task, (uint64_t)task};
		x->sel.tasks = &x->one;
		x->sel.ntasks = 1;
	}
	return 0;
}

static int prepare(struct extraction *x, const char *series)
{
	int err = parse_series(x, series);

	if (!err)
		err = choose_nodes(x);
	if (err)
		return err;
	free(x->lacks);
	free(x->found);
	x->lacks = calloc(x->nrefs + 1, 1);
	x->found = calloc(x->sel.ntasks + 1, 1);
	x->text.series = x->series;
	x->text.begun = false;
	plan_names__free(&x->plan);
	return x->lacks && x->found ? 0 : -ENOMEM;
}

/* Takes back what was written since. */
static int take_back(struct extraction *x, int fd, off_t at, const struct extraction *before)
{
	x->text.begun = false;
	x->text.comma = before->text.comma;
	x->result = before->result;
	return ftruncate(fd, at) || lseek(fd, at, SEEK_SET) < 0 ? -errno : 0;
}

static int one_series(struct extraction *x, struct outbuf *out, const char *series,
		      const char *blank)
{
	uint64_t tables = x->result.tables;
	struct extraction before;
	off_t at = 0;
	bool restart;
	int err;

	outbuf__flush(out);
	restart = can_restart(out->fd, &at);
	err = prepare(x, series);
	if (!err)
		err = plan(x, restart);
	before = *x;
	if (!err && (!x->plan.begun || x->plan.n))
		err = write_all(x, out, blank);
	if (err == -EAGAIN && restart) {
		out->len = 0;
		err = take_back(x, out->fd, at, &before);
		if (!err)
			err = plan(x, false);
		if (!err)
			err = write_all(x, out, blank);
	}
	extract__release(x);
	if (!err)
		name_problems(x, tables);
	return err == -EAGAIN ? -EBUSY : err;
}

static void name_failure(const struct extraction *x, int err)
{
	if (err == -ENOMEM)
		log_error("%s: out of memory", x->path);
	else if (err == -EBUSY)
		log_error("%s: changed while it was read", x->path);
}

static int write_series(struct extraction *x, struct outbuf *out)
{
	const struct extract_options *o = x->opt;
	bool json = o->format == EXTRACT_JSON;
	int err = 0;

	for (unsigned i = 0; !err && !out->err && i < o->nseries; i++) {
		const char *blank = json ? "[\n" : "\n";

		if (x->result.tables)
			blank = json ? "" : "\n";
		else if (!json)
			blank = "";
		err = one_series(x, out, o->series[i], blank);
	}
	if (json && x->result.tables)
		outbuf__str(out, "\n]\n");
	return err;
}

static int begin(struct extraction *x)
{
	int err = open_reader(x);

	if (!err)
		err = cursor__new(&x->cursor);
	if (!err)
		err = totals__new(&x->totals);
	if (err)
		return err;
	x->result.opened = x->result.all_there = true;
	x->filter.from = x->opt->from;
	x->filter.to = x->opt->to;
	x->filter.on = x->opt->from.set || x->opt->to.set;
	x->text.format = x->opt->format;
	x->text.keep_nan = x->opt->stock;
	x->text.job = *x->r->job ? x->r->job : NULL;
	x->text.level = x->opt->totals ? "totals" : "timeseries";
	return 0;
}

static void free_all(struct extraction *x)
{
	totals__free(x->totals);
	cursor__free(x->cursor);
	reader__free(x->r);
	plan_names__free(&x->plan);
	text__free(&x->text);
	free(x->refs);
	free(x->cols);
	free(x->lacks);
	free(x->found);
}

int extract__run(const char *path, const struct extract_options *o, int fd,
		 struct extract_result *result)
{
	struct extraction x = {.opt = o, .path = path};
	struct outbuf out = {0};
	int err = begin(&x), end;

	if (!err)
		err = outbuf__init(&out, fd);
	if (!err)
		err = write_series(&x, &out);
	end = outbuf__end(&out);
	*result = x.result;
	result->write_error = end;
	if (!end)
		name_failure(&x, err);
	if (!o->leaves)
		free_all(&x);
	return end ? end : err;
}
