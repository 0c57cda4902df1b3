/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof items: one column over all nodes, side by side and by time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"
#include "model/items.h"
#include "schema/series.h"
#include "view/items/items_print.h"

struct options {
	struct select_words words;
	const char *output;
	const struct items_format *format;
	double period;
};

/* What a run of it is about. */
struct work {
	const struct options *o;
	struct profiles in;
	struct selection sel;
	struct string_list nodes;
	struct number_range task; /* the one the series was named with */
	char series[128];
	struct read_errors errors;
};

static int print_items(const struct work *w, struct items *it, int fd)
{
	const struct items_text text = {
		.format = w->o->format,
		.series = w->series,
		.column = it->column,
		.summary = strcmp(w->o->output, "-") ? stdout : stderr,
	};
	int err = items__write(it, &text, fd);

	if (err)
		log_error("%s: %s", w->o->output, strerror(-err));
	return err;
}

/* missing: something that was asked for does not exist, and has been logged. */
static int write_items(struct work *w, const struct model_file *f, int fd, bool missing)
{
	const struct items_query q = {
		.of = {.series = w->series,
		       .column = w->o->words.column,
		       .sel = &w->sel,
		       .problem = read_errors__add,
		       .ctx = &w->errors},
		.period = w->o->period,
	};
	struct items *it = NULL;
	int err = items__open(&it, f, &q);

	if ((err == -ENOENT || err == -ENODATA) && (missing || w->errors.damaged))
		; /* has been said, or may be there */
	else if (err == -ENOENT)
		select_args__no_series(f, &w->sel, w->in.files->path, w->series);
	else if (err == -ENODATA)
		select_args__no_column(f, &w->sel, w->in.files->path, w->series,
				       w->o->words.column);
	else if (err)
		log_error("%s: %s", w->in.files->path, model_file__strerror(err));
	else
		err = print_items(w, it, fd);
	read_errors__end(&w->errors, err == -ENOENT || err == -ENODATA);
	items__free(it);
	return err;
}

/* Runs in a limited child. */
static int write_file(void *arg, int fd, bool *keep)
{
	struct work *w = arg;
	struct model_file f;
	int err = model_file__open(&f, w->in.files->path);
	bool missing;

	if (err) {
		log_error("%s: %s", w->in.files->path, model_file__strerror(err));
		return 1;
	}
	missing = select_args__missing(&f, &w->sel, w->in.files->path);
	w->errors.path = w->in.files->path;
	w->errors.series = w->series;
	w->errors.hold = true;
	err = write_items(w, &f, fd, missing);
	*keep = !err;
	model_file__close(&f);
	return err || missing || w->errors.damaged ? 1 : 0;
}

static int run_options(const struct options *o)
{
	struct work w = {.o = o};
	int status;

	status = select_args__series(&w.sel, &w.task, w.series, sizeof(w.series), o->words.series);
	if (!status)
		status = select_args__nodes(&w.sel, &w.nodes, o->words.nodes);
	if (!status)
		status = input_args__file(&w.in, &o->words);
	if (!status) {
		w.sel.steps = w.in.files->steps;
		w.sel.nsteps = w.in.files->nsteps;
		status = child_output__write(o->output, w.in.files->path, &POOL_STREAM, write_file,
					     &w);
	}
	profiles__free(&w.in);
	string_list__free(&w.nodes);
	return status < 0 ? 1 : status;
}

static int set_format(void *to, const struct opt *opt, const char *arg)
{
	struct options *o = to;

	o->format = items_format__find(arg);
	if (!o->format)
		log_error("--format: \"%s\" is none of csv, json, table", arg);
	return o->format ? 0 : 2;
}

static int set_period(void *to, const struct opt *o, const char *arg)
{
	double *s = to;

	if (!parse_double(arg, s) && *s >= 1e-3)
		return 0;
	log_error("--period: \"%s\" is not a number of seconds from 0.001", arg);
	return 2;
}

static const struct opt opts[] = {
	OPT_COLUMN(struct options),
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPT_NODES(struct options),
	{0, "period", "SECONDS", "of the rows; default: as the tables'",
	 OPT_CALL_AT(set_period, struct options, period)},
	{0, "format", "FORMAT", "csv (default), json or table", OPT_CALL(set_format),
	 .values = items_format__print_names},
	{'o', "output", "FILE", "writes there; default, and \"-\": standard output",
	 OPT_TEXT(struct options, output)},
	OPT_OVERWRITE,
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

int verb_items(int argc, char **argv)
{
	struct options o = {.format = items_format__find("csv"), .output = "-"};
	int status = options__read(&cmd_items, argc, argv, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	status = input_args__word(&cmd_items, argc, argv, &o.words.input);
	if (status)
		return status;
	if (!o.words.series || !o.words.column)
		return options__wrong(&cmd_items, "which series and column: -s SERIES -d COLUMN");
	return run_options(&o);
}
