/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof plot: one column of one series over time, of one file or of several over each other. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/read_errors.h"
#include "cmd/jobprof/select_args.h"
#include "cmd/jobprof/verbs.h"
#include "model/curve.h"
#include "model/model.h"
#include "view/plot/plot.h"
#include "view/report/report_text.h"

struct options {
	struct select_words words;
	const char *svg, *html;
	bool ascii, sum;
};

static const struct opt opts[] = {
	OPT_COLUMN(struct options),
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPT_NODES(struct options),
	{0, "sum", NULL, "of several tables their sum in place of their median",
	 OPT_FLAG(struct options, sum)},
	{0, "svg", "FILE", "writes it there as SVG, for papers; \"-\": standard output",
	 OPT_TEXT(struct options, svg), .group = 1},
	{0, "html", "FILE",
	 "as one file for a browser, which needs no network; - is standard output",
	 OPT_TEXT(struct options, html), .group = 1},
	{0, "ascii", NULL, "draws with ASCII characters alone", OPT_FLAG(struct options, ascii)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_plot = {
	.name = "jobprof plot",
	.usage = "-s SERIES -d COLUMN [OPTION]... " USAGE_INPUTS,
	.about = "Draws one column of one series over time: of one table, or of all tables their\n"
		 "median between the lowest and the highest; of several files over each other, by\n"
		 "the time since the start of each. Amounts per interval are drawn per second.",
	.opts = opts,
};

#define TERMINAL_WIDTH	80
#define TERMINAL_HEIGHT 24
#define WIDTH_MAX	1000
#define HEIGHT_MAX	500
#define SVG_INTERVALS	800
#define HTML_INTERVALS	2000

struct work {
	const struct options *o;
	struct string_list nodes;
	struct selection sel; /* but for steps */
	struct number_range task;
	char series[128];
	struct profiles in;
	char *template; /* of --html */
	/* In the child: */
	char labels[PLOT_CURVES][PATH_MAX + MODEL_TITLE];
	struct curve curves[PLOT_CURVES];
	struct plot_curve plotted[PLOT_CURVES];
};

/* ---- in a limited child */

static bool is_known(const struct curve *c)
{
	for (unsigned k = 0; k < c->n; k++)
		if (!isnan(c->middle[k]))
			return true;
	return false;
}

/* named: a step or node that does not exist, or is damaged, has been logged. */
static void say_why(const struct work *w, const struct model_file *f, const struct selection *sel,
		    const char *path, int err, bool named)
{
	if (named && (err == -ENOENT || err == -ENODATA))
		return;
	if (err == -ENOENT)
		select_args__no_series(f, sel, path, w->series);
	else if (err == -ENODATA)
		select_args__no_column(f, sel, path, w->series, w->o->words.column);
	else
		log_error("%s: %s", path, model_file__strerror(err));
}

static int read_curve(struct work *w, unsigned i, unsigned intervals)
{
	struct read_errors errors = {
		.path = w->in.files[i].path, .series = w->series, .hold = true};
	struct selection sel = w->sel;
	const struct column_query q = {.series = w->series,
				       .column = w->o->words.column,
				       .sel = &sel,
				       .sum = w->o->sum,
				       .problem = read_errors__add,
				       .ctx = &errors};
	struct model_file f;
	int err = model_file__open(&f, w->in.files[i].path);
	bool missing = false;

	if (err) {
		log_error("%s: %s", w->in.files[i].path, model_file__strerror(err));
		return 1;
	}

	model_title__of(&f, w->labels[i]);
	sel.steps = w->in.files[i].steps;
	sel.nsteps = w->in.files[i].nsteps;
	missing = select_args__missing(&f, &sel, w->in.files[i].path);
	err = curve__read(&w->curves[i], &f, &q, intervals);
	if (err) {
		say_why(w, &f, &sel, errors.path, err, missing || errors.damaged);
	} else if (!is_known(&w->curves[i])) {
		log_error("%s: %s of %s is not known in any row", w->in.files[i].path,
			  w->o->words.column, w->o->words.series);
		curve__free(&w->curves[i]);
		err = -ENODATA;
	}
	read_errors__end(&errors, err == -ENOENT || err == -ENODATA);
	model_file__close(&f);
	return err || missing || errors.damaged ? 1 : 0;
}

static bool is_only(const struct work *w, unsigned i)
{
	for (unsigned k = 0; k < w->in.nfiles; k++)
		if (k != i && !strcmp(w->labels[k], w->labels[i]))
			return false;
	return *w->labels[i];
}

/* Curves have the titles of their files, as on other pages; where these are equal, the paths are
 * added. */
static void tell_apart(struct work *w)
{
	bool alike[PLOT_CURVES] = {false};

	for (unsigned i = 0; i < w->in.nfiles; i++)
		alike[i] = !is_only(w, i);
	for (unsigned i = 0; i < w->in.nfiles; i++) {
		char *label = w->labels[i];
		size_t len = strlen(label);

		if (alike[i])
			snprintf(label + len, sizeof(w->labels[i]) - len, "%s%s", len ? ", " : "",
				 w->in.files[i].path);
	}
}

/* Curves share an axis. */
static bool have_one_unit(const struct work *w)
{
	const struct curve *first = &w->curves[0];

	for (unsigned i = 1; i < w->in.nfiles; i++)
		if (strcmp(w->curves[i].unit, first->unit) ||
		    w->curves[i].is_rate != first->is_rate) {
			log_error("%s: %s has another unit there than in %s, and no axis fits both",
				  w->in.files[i].path, w->o->words.column, w->in.files[0].path);
			return false;
		}
	return true;
}

static struct plot_text terminal_of(const struct options *o, int fd)
{
	struct plot_text t = {TERMINAL_WIDTH, TERMINAL_HEIGHT, utf8__is_locale() && !o->ascii,
			      isatty(fd) && !getenv("NO_COLOR")};
	struct winsize size;

	if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col && size.ws_row) {
		t.width = size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
		t.height = size.ws_row < HEIGHT_MAX ? size.ws_row : HEIGHT_MAX;
	}
	return t;
}

struct drawing {
	const struct plot *plot;
	const struct plot_text *how; /* NULL: as SVG */
};

static int draw(void *arg, FILE *out)
{
	const struct drawing *d = arg;

	if (d->how)
		return plot__print(d->plot, d->how, out);
	plot__svg(d->plot, out);
	return 0;
}

/* Where the plot is written; NULL: to standard output, as text. */
static const char *file_of(const struct options *o)
{
	return o->html ? o->html : o->svg;
}

/* 0, or the exit status. */
static int draw_curves(const struct work *w, int fd, const struct plot_text *how)
{
	const struct plot plot = {w->o->words.series, w->plotted, w->in.nfiles};
	struct drawing d = {&plot, w->o->svg ? NULL : how};
	int err = w->template ? html_page__put(fd, w->template, plot__json(&plot))
			      : child_output__stream(fd, draw, &d);

	if (err)
		log_error("%s: cannot be written: %s", file_of(w->o) ? file_of(w->o) : "the plot",
			  strerror(-err));
	return err ? 1 : 0;
}

static int plot_files(void *arg, int fd, bool *keep)
{
	struct work *w = arg;
	struct plot_text how = terminal_of(w->o, fd);
	unsigned intervals = w->o->html	 ? HTML_INTERVALS
			     : w->o->svg ? SVG_INTERVALS
					 : 2 * how.width;
	int status = 0, drawn = 1;

	for (unsigned i = 0; i < w->in.nfiles; i++) {
		status |= read_curve(w, i, intervals);
		if (!w->curves[i].n)
			return 1;
		w->plotted[i] = (struct plot_curve){&w->curves[i], w->labels[i]};
	}
	tell_apart(w);
	if (have_one_unit(w))
		drawn = draw_curves(w, fd, &how);
	*keep = !drawn;
	for (unsigned i = 0; i < w->in.nfiles; i++)
		curve__free(&w->curves[i]);
	return drawn ? drawn : status;
}

/* ---- the verb */

/* Each word may be several files. */
static int find_files(struct work *w, char **words, unsigned n)
{
	const struct profile_words what = {.jobs = w->o->words.jobs,
					   .where = w->o->words.input,
					   .words = words,
					   .nwords = n,
					   .nodes = w->sel.nodes,
					   .by_name = true};
	int status = profiles__find(&w->in, &what);

	if (status || w->in.nfiles <= PLOT_CURVES)
		return status;
	log_error("%u files: no more than %d can be told from each other: jobprof merge makes one "
		  "file of those of a job",
		  w->in.nfiles, PLOT_CURVES);
	return 2;
}

static int find_and_plot(struct work *w, char **words, unsigned n)
{
	const char *output = file_of(w->o) ? file_of(w->o) : "-";
	int status = find_files(w, words, n);

	if (!status && html_page__is_input(output, w->in.files, w->in.nfiles))
		status = 1;
	if (!status && w->o->html) {
		w->template = html_page__template();
		status = w->template ? 0 : 1;
	}
	if (!status)
		status =
			child_output__write(output, w->in.files->path, &POOL_STREAM, plot_files, w);
	status |= w->in.lacks_job;
	profiles__free(&w->in);
	return status < 0 ? 1 : status;
}

static int run_options(const struct options *o, char **words, unsigned n)
{
	struct work w = {.o = o};
	int status;

	status = select_args__series(&w.sel, &w.task, w.series, sizeof(w.series), o->words.series);
	if (!status)
		status = select_args__nodes(&w.sel, &w.nodes, o->words.nodes);
	if (!status)
		status = find_and_plot(&w, words, n);
	free(w.template);
	string_list__free(&w.nodes);
	return status;
}

int verb_plot(int argc, char **argv)
{
	struct options o = {0};
	int status = options__read(&cmd_plot, argc, argv, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	if (!o.words.series || !o.words.column)
		return options__wrong(&cmd_plot, "which series and column: -s SERIES -d COLUMN");
	if (o.words.jobs || o.words.input) {
		status = input_args__word(&cmd_plot, argc, argv, &o.words.input);
		return status ? status : run_options(&o, NULL, 0);
	}
	return run_options(&o, argv + optind, (unsigned)(argc - optind));
}
