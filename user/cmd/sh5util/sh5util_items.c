/* SPDX-License-Identifier: GPL-2.0-only */
/* sh5util -I: one item of a series, all tables side by side, in the stock tool's form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "view/fields.h"
#include "view/items_print.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/sh5util/sh5util.h"
#include "hdf5/reader.h"

struct work {
	const struct sh5_options *o;
	const char *from, *to;
};

static void print_header(struct outbuf *out, const struct items *it, const char *series)
{
	/* The second word is spelt as scripts know it. */
	outbuf__str(out, "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes");
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		if (!it->grouped) {
			outbuf__str(out, series);
			outbuf__char(out, ' ');
		}
		csv__name(out, it->cols[i].node);
	}
	outbuf__char(out, '\n');
}

static void print_extreme(struct outbuf *out, const struct items *it, const struct items_row *row,
			  unsigned at)
{
	const struct items_col *c = &it->cols[at];

	outbuf__char(out, ',');
	if (row->n && c->table) {
		csv__name(out, c->table);
		outbuf__char(out, ' ');
	}
	if (row->n)
		csv__name(out, c->node);
	outbuf__char(out, ',');
	if (row->n)
		items__print(out, (struct items_number){row->cells[at], false}, it->type);
}

static void print_row(struct outbuf *out, const struct items *it, const struct items_row *row)
{
	csv__name(out, row->step);
	outbuf__char(out, ',');
	outbuf__u64(out, row->elapsed);
	print_extreme(out, it, row, row->min_at);
	print_extreme(out, it, row, row->max_at);
	outbuf__char(out, ',');
	if (row->n)
		items__print(out, row->sum, it->type);
	outbuf__char(out, ',');
	if (row->n)
		outbuf__f6(out, row->avg);
	outbuf__char(out, ',');
	outbuf__u64(out, row->tables);
	for (unsigned i = 0; i < it->ncols; i++) {
		outbuf__char(out, ',');
		if (row->known[i])
			items__print(out, (struct items_number){row->cells[i], false}, it->type);
	}
	outbuf__char(out, '\n');
}

static void say_step(const struct sh5_options *o, const struct items *it, const char *step,
		     const struct items_totals *t)
{
	FILE *f = o->output && !strcmp(o->output, "-") ? stderr : stdout;

	fputs("    Step ", f);
	print__escaped(f, step);
	fprintf(f, " Maximum accumulated %s Value (", o->item);
	if (t->best.big || it->type == COL_F64)
		fprintf(f, "%f", t->best.v.f);
	else if (it->type == COL_I64)
		fprintf(f, "%" PRId64, t->best.v.i);
	else
		fprintf(f, "%" PRIu64, t->best.v.u);
	fprintf(f, ") occurred at Time=%" PRIu64 ", Ave Node %f\n", t->best_elapsed, t->best_avg);
}

static int print_rows(const struct sh5_options *o, struct outbuf *out, struct items *it)
{
	struct items_totals totals = {0};
	struct items_row row;
	const char *step = NULL;
	int got;

	print_header(out, it, o->series);
	while ((got = items__next(it, &row)) > 0) {
		if (row.first && step)
			say_step(o, it, step, &totals);
		if (row.first)
			totals = (struct items_totals){0};
		step = row.step;
		print_row(out, it, &row);
		items__total(&totals, it, &row);
	}
	if (step)
		say_step(o, it, step, &totals);
	return got;
}

static int write_items(const struct work *w, struct items *it, int fd)
{
	struct outbuf text;
	int err = outbuf__init(&text, fd), ended;

	if (!err)
		err = print_rows(w->o, &text, it);
	ended = outbuf__end(&text);
	err = err ? err : ended;
	if (err)
		log_error("error: %s: %s", w->to, strerror(-err));
	return err ? SH5_FAILED : SH5_OK;
}

static int extract_items(const struct work *w, const struct reader *r, struct read_errors *errors,
			 int fd)
{
	const struct sh5_options *o = w->o;
	const struct items_query q = {
		.series = o->series,
		.column = o->item,
		.sel = &o->sel,
		.as_stored = true,
		.problem = read_errors__add,
		.ctx = errors,
	};
	struct items *it = NULL;
	int status, err = items__open(&it, r, &q);

	if (err == -ENODATA) {
		log_error("error: Item %s not found in series %s", o->item, o->series);
		return SH5_NO_SERIES;
	}
	if (err == -ENOENT) {
		log_error("error: Series %s not found", o->series_text);
		return SH5_NO_SERIES;
	}
	if (err) {
		log_error("error: %s", reader__strerror(err));
		return SH5_FAILED;
	}
	status = write_items(w, it, fd);
	items__free(it);
	return status;
}

/* In a child. */
static int write_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct read_errors errors = {.path = w->from, .series = w->o->series};
	struct reader *r = sh5__open(w->from);
	bool all_there;
	int status;

	if (!r)
		return SH5_USAGE;
	all_there = sh5__all_there(r, w->from, &w->o->sel);
	status = extract_items(w, r, &errors, fd);
	*keep = status == SH5_OK;
	read_errors__end(&errors, false);
	reader__free(r);
	if (status && status != SH5_NO_SERIES)
		return status;
	return !all_there || errors.damaged ? SH5_FAILED : status;
}

/* ./SERIES_ITEM_JOB.csv, both as they were typed, but never in another directory. */
static char *default_output(const struct sh5_options *o, uint32_t job)
{
	char *path;

	if (asprintf(&path, "./%s_%s_%" PRIu32 ".csv", o->series_text, o->item, job) < 0)
		return NULL;
	for (char *p = path + 2; *p; p++)
		if (*p == '/')
			*p = '_';
	return path;
}

int sh5__items(const struct sh5_options *o, const struct input_file *f)
{
	_cleanup_free_ char *path = o->output ? strdup(o->output) : default_output(o, f->job);
	struct work w = {o, f->path, path};

	if (!path)
		return SH5_FAILED;
	log_info("Extracting '%s' from '%s' data from %s into %s", o->item, o->series_text, f->path,
		 path);
	return sh5__write(path, f->path, write_file, &w);
}
