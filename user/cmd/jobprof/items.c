/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof items: one column over all nodes, side by side and by time. */
#include <errno.h>
#include <unistd.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/child_output.h"
#include "view/items_print.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/input_file.h"
#include "cmd/jobprof/read_errors.h"
#include "hdf5/reader.h"
#include "cmd/jobprof/verbs.h"
#include "identity/stepname.h"

#define NS INT64_C(1000000000)

struct options {
	const char *series, *column, *jobs, *input, *nodes, *output;
	const struct items_format *format;
	double period;
};

/* What a run of it is about. */
struct work {
	const struct options *o;
	struct input_file file;
	struct selection sel;
	struct hostlist nodes;
	struct number_range task; /* the one the series was named with */
	char series[128];
	struct read_errors errors;
};

static void number_text(char text[static 400], struct items_number v, enum col_type type)
{
	if (v.big || type == COL_F64)
		snprintf(text, 400, "%f", v.v.f);
	else if (type == COL_I64)
		snprintf(text, 400, "%" PRId64, v.v.i);
	else
		snprintf(text, 400, "%" PRIu64, v.v.u);
}

static void say_extreme(FILE *out, const struct items *it, const char *what, union cell v,
			unsigned at, int64_t when_ns)
{
	const struct items_col *c = &it->cols[at];
	char text[400];

	number_text(text, (struct items_number){v, false}, it->type);
	fprintf(out, "    %s %s on ", what, text);
	print__escaped(out, c->node);
	if (c->table) {
		fputs(", task ", out);
		print__escaped(out, c->table);
	}
	fprintf(out, " at %" PRId64 ".%03d\n", when_ns / NS, (int)(when_ns % NS / 1000000));
}

static void say_step(FILE *out, const struct items *it, const char *step,
		     const struct items_totals *t)
{
	char text[400];

	number_text(text, t->best, it->type);
	fputs("    Step ", out);
	print__escaped(out, stepname__human(step));
	fputs(" Maximum accumulated ", out);
	print__escaped(out, it->column);
	fprintf(out, " Value (%s) occurred at Time=%" PRIu64 ", Ave Node %f\n", text,
		t->best_elapsed, t->best_avg);
	if (!t->n)
		return;
	say_extreme(out, it, "Minimum", t->min, t->min_at, t->min_ns);
	say_extreme(out, it, "Maximum", t->max, t->max_at, t->max_ns);
	number_text(text, t->sum, it->type);
	fprintf(out, "    Sum %s, average %f\n", text,
		items__double(t->sum, it->type) / (double)t->n);
}

static void end_step(const struct work *w, struct outbuf *text, const struct items *it,
		     const char *step, const struct items_totals *t)
{
	const struct items_format *f = w->o->format;

	if (f->end_step)
		f->end_step(text, it, step, t);
	else
		say_step(strcmp(w->o->output, "-") ? stdout : stderr, it, step, t);
}

static int print_rows(const struct work *w, struct outbuf *text, struct items *it)
{
	const struct items_format *f = w->o->format;
	struct items_totals totals = {0};
	struct items_row row;
	const char *step = NULL;
	int got;

	f->begin(text, it, w->series);
	while ((got = items__next(it, &row)) > 0) {
		if (row.first && step)
			end_step(w, text, it, step, &totals);
		if (row.first)
			totals = (struct items_totals){0};
		step = row.step;
		f->row(text, it, &row);
		items__total(&totals, it, &row);
	}
	if (step)
		end_step(w, text, it, step, &totals);
	if (f->end)
		f->end(text);
	return got;
}

static int print_items(const struct work *w, struct items *it, int fd)
{
	struct outbuf text;
	int err = outbuf__init(&text, fd), ended;

	if (!err)
		err = print_rows(w, &text, it);
	ended = outbuf__end(&text);
	err = err ? err : ended;
	if (err)
		log_error("%s: %s", w->o->output, strerror(-err));
	return err;
}

/* missing: what there is none of has been named. */
static int write_items(struct work *w, const struct reader *r, int fd, bool missing)
{
	const struct items_query q = {
		.series = w->series,
		.column = w->o->column,
		.sel = &w->sel,
		.period = w->o->period,
		.problem = read_errors__add,
		.ctx = &w->errors,
	};
	struct items *it = NULL;
	int err = items__open(&it, r, &q);

	if (err == -ENOENT && missing)
		;
	else if (err == -ENOENT || err == -ENODATA)
		log_error("%s: no such %s: %s; \"jobprof list -i FILE\" shows what is there",
			  w->file.path, err == -ENOENT ? "series" : "column",
			  err == -ENOENT ? w->o->series : w->o->column);
	else if (err)
		log_error("%s: %s", w->file.path, reader__strerror(err));
	else
		err = print_items(w, it, fd);
	read_errors__end(&w->errors, err == -ENOENT || err == -ENODATA);
	items__free(it);
	return err;
}

/* In a child. */
static int write_file(void *arg, int fd, bool *keep)
{
	struct work *w = arg;
	struct reader *r = NULL;
	int err = reader__open(&r, w->file.path);
	bool missing;

	if (err) {
		log_error("%s: %s", w->file.path, reader__strerror(err));
		return 1;
	}
	missing = select_args__missing(r, &w->sel, w->file.path);
	w->errors.path = w->file.path;
	w->errors.series = w->series;
	w->errors.hold = true;
	err = write_items(w, r, fd, missing);
	*keep = !err;
	reader__free(r);
	return err || missing || w->errors.damaged ? 1 : 0;
}

static int run_options(const struct options *o)
{
	struct work w = {.o = o};
	int64_t task;
	int status;

	if (select__series(o->series, w.series, sizeof(w.series), &task, &w.sel.table)) {
		log_error("-s: \"%s\" is not the name of a series", o->series);
		return 2;
	}
	if (task >= 0) {
		w.task = (struct number_range){(uint64_t)task, (uint64_t)task};
		w.sel.tasks = &w.task;
		w.sel.ntasks = 1;
	}
	status = select_args__nodes(&w.sel, &w.nodes, o->nodes);
	if (!status)
		status = input_file__choose(&w.file, o->jobs, o->input);
	w.sel.steps = w.file.steps;
	w.sel.nsteps = w.file.nsteps;
	if (!status)
		status = child_output__write(o->output, w.file.path, write_file, &w);
	input_file__free(&w.file);
	hostlist__free(&w.nodes);
	return status < 0 ? 1 : status;
}

static const struct opt opts[] = {
	{'s', "series", "SERIES", "Tasks, Step, Energy, ...; Tasks/3, User/solver: one table"},
	{'d', "data", "COLUMN", "the column, in any case"},
	OPT_JOBS,
	OPT_INPUT,
	OPT_NODES,
	{OPT_LONG + 'P', "period", "SECONDS", "of the rows; default: as the tables'"},
	{OPT_LONG + 'f', "format", "FORMAT", "csv (default), json or table"},
	{'o', "output", "FILE", "writes there; default, and \"-\": standard output"},
	{0},
};

const struct command cmd_items = {
	.name = "jobprof items",
	.usage = "-s SERIES -d COLUMN " USAGE_INPUT " [OPTION]...",
	.about = "One column of one series over all nodes and tasks, side by side, a row per\n"
		 "period, with minimum, maximum and where, sum, average and number of nodes; and\n"
		 "when the sum was highest.",
	.opts = opts,
};

static int take(void *ctx, int c, const char *arg)
{
	struct options *o = ctx;

	switch (c) {
	case 's':
		o->series = arg;
		return 0;
	case 'd':
		o->column = arg;
		return 0;
	case 'j':
		o->jobs = arg;
		return 0;
	case 'i':
		o->input = arg;
		return 0;
	case 'N':
		o->nodes = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_LONG + 'f':
		o->format = items_format__find(arg);
		if (!o->format)
			log_error("--format: \"%s\" is none of csv, json, table", arg);
		return o->format ? 0 : 2;
	case OPT_LONG + 'P':
		if (!parse_double(arg, &o->period) && o->period >= 1e-3)
			return 0;
		log_error("--period: \"%s\" is not a number of seconds from 0.001", arg);
		return 2;
	default:
		return 2;
	}
}

int verb_items(int argc, char **argv)
{
	struct options o = {.format = items_format__find("csv"), .output = "-"};
	int status = options__read(&cmd_items, argc, argv, take, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	status = input_args__word(&cmd_items, argc, argv, &o.input);
	if (status)
		return status;
	if (!o.series || !o.column)
		return options__wrong(&cmd_items, "which series and column: -s SERIES -d COLUMN");
	return run_options(&o);
}
