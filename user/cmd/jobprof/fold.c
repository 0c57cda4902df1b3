// SPDX-License-Identifier: GPL-2.0-or-later
/* jobprof fold: what happens inside of a region that was executed many times. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/fold/folded.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/verbs.h"
#include "model/model.h"
#include "model/points.h"
#include "view/fold/fold_view.h"
#include "view/report/report_text.h"

#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static void print_counters(FILE *out)
{
	for (int c = 0; c < POINT_FIXED; c++)
		fprintf(out, "%s ", point_counters[c]);
}

struct options {
	struct fold_query query;
	const char *event; /* of --counter */
	struct select_words words;
	const char *svg, *html, *drawn; /* drawn: where either of them goes; NULL: there is none */
	char *template;			/* of --html */
	bool json, store;
	int stored; /* of --store: what is to be stored */
	struct profiles in;
};

/* ---- in a limited child */

/* Which regions there are. */
static void say_no_region(const char *path, const char *region, const struct points *p)
{
	char text[512] = "";
	size_t n = 0;

	for (unsigned i = 0; i < p->nnames && n + 1 < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.80s", i ? ", " : "",
				      p->names[i]);
	log_error("%s: no region is called \"%s\"; there are: %s%s", path, region, text,
		  n >= sizeof(text) ? " ..." : "");
}

/* What a file lacks for folding. */
static void say_missing(const struct options *o, const struct points *p, int err,
			const char *flawed)
{
	const char *path = o->in.files->path;
	const char *counter = o->event ? o->event : point_counters[o->query.counter];

	if (!p->npoints)
		log_error("%s: it has no samples to fold: its programs hardly ran, or it was "
			  "profiled without --series all,fold or srun --jobprof=all,fold",
			  path);
	else if (p->event && !p->has_event)
		log_error(
			"%s: its samples have no counter \"%s\": there are CPUTime and PageFaults, "
			"and the columns of events that the family perf counts exactly",
			path, p->event);
	else if (flawed)
		log_error("%s: nothing to fold: %s %s", path, counter, flawed);
	else if (!p->nregions && p->lost_regions > 0)
		log_error("%s: nothing to fold: its programs have named regions, but no execution "
			  "is known from begin to end: %.0f begins and ends were lost or have no "
			  "other end",
			  path, p->lost_regions);
	else if (!p->nregions && o->query.region)
		log_error("%s: no region is called \"%s\": its programs have named none", path,
			  o->query.region);
	else if (!p->nregions)
		log_error("%s: its programs have named no region, and no period stands out, which "
			  "takes 10 s and 20 to 40 iterations of a thread that has a CPU: see "
			  "jobprof run "
			  "--region, and jobprof_region_begin in libjobprof(3)",
			  path);
	else if (err == -ENOENT)
		say_no_region(path, o->query.region, p);
	else
		log_error("%s: nothing to fold: no execution of the region has a sample of %s%s",
			  path, counter,
			  p->lost_regions > 0
				  ? "; of some only the begin or the end is known, or their region "
				    "paused: see the step's attribute Regions"
				  : "");
}

struct output {
	const struct folded *f;
	const struct options *o;
};

static int print_svg(void *arg, FILE *out)
{
	fold_svg__print(((const struct output *)arg)->f, out);
	return 0;
}

static int print_fold(void *arg, FILE *out)
{
	const struct output *p = arg;

	if (p->o->json)
		return json__print(fold_json__of(p->f, true), out, JSON_INDENT(1));
	fold_text__print(p->f, out, spark__width(out), utf8__is_locale());
	return 0;
}

static int put_page(const struct folded *f, const struct options *o, int fd)
{
	char title[MODEL_TITLE];

	model_title__read(o->in.files->path, title);
	return html_page__put(fd, o->template, fold_json__page(f, title));
}

static int put_fold(const struct folded *f, const struct options *o, int fd)
{
	struct output p = {f, o};
	int err = o->template ? put_page(f, o, fd)
			      : child_output__stream(fd, o->drawn ? print_svg : print_fold, &p);

	if (err)
		log_error("%s: cannot be written: %s", o->drawn ? o->drawn : "the result",
			  strerror(-err));
	if (!err && o->drawn && o->json) {
		err = child_output__stream(STDOUT_FILENO, print_fold, &p);
		if (err)
			log_error("the result: cannot be written: %s", strerror(-err));
	}
	return err ? 1 : 0;
}

static int fold_file(void *arg, int fd, bool *keep)
{
	struct options *o = arg;
	const struct selection steps = {.steps = o->in.files->steps, .nsteps = o->in.files->nsteps};
	struct points p = {.event = o->event};
	struct folded f = {0};
	struct model_files files; /* what follows reads the same open file */
	int status = 1, err;

	model_files__open(&files, o->in.files, 1);
	err = points__read_file(&p, o->in.files->path, &steps);
	if (err && err != -ENODATA) {
		log_error("%s: %s", o->in.files->path,
			  err == -ESRCH ? "it has no such step" : model_file__strerror(err));
	} else {
		err = p.npoints && (!p.event || p.has_event) ? folded__of(&f, &p, &o->query)
							     : -ENODATA;
		if (err == -ENOMEM)
			log_error("%s: %s", o->in.files->path, strerror(ENOMEM));
		else if (err)
			say_missing(o, &p, err, f.flawed[o->query.counter]);
		else if (f.locked)
			log_error("%s: the region is not folded: %s, as it keeps step with their "
				  "clock",
				  o->in.files->path, f.locked);
		else
			status =
				put_fold(&f, o, fd) || (o->store && fold_store__put(&f, o->stored));
	}
	*keep = !status;
	folded__free(&f);
	points__free(&p);
	model_files__close(&files);
	return status;
}

/* ---- the verb */

static int set_counter(void *to, const struct opt *opt, const char *name)
{
	struct options *o = to;

	o->query.counter = 0;
	while (o->query.counter < POINT_FIXED &&
	       strcasecmp(point_counters[o->query.counter], name) != 0)
		o->query.counter++;
	o->event = o->query.counter == POINT_EVENT ? name : NULL;
	if (*name && strspn(name, IDENTIFIER) == strlen(name))
		return 0;
	log_error("--counter %s: want the name of a column", name);
	return 2;
}

static int set_nugget(void *to, const struct opt *opt, const char *arg)
{
	struct options *o = to;
	char *end;

	o->query.nugget = strtod(arg, &end);
	if (end != arg && !*end && o->query.nugget >= 0 && isfinite(o->query.nugget))
		return 0;
	log_error("--nugget %s: want a number that is not below 0", arg);
	return 2;
}

static const struct opt opts[] = {
	{'r', "region", "NAME", "the region (default: the one that took most time)",
	 OPT_TEXT(struct options, query.region)},
	{'c', "counter", "COUNTER",
	 "whose rate is shown: CPUTime (default), PageFaults, or an event's column",
	 OPT_CALL(set_counter), .values = print_counters},
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	{0, "svg", "FILE", "writes it there as SVG; \"-\": standard output",
	 OPT_TEXT(struct options, svg), .group = 1},
	{0, "html", "FILE", "writes it there as one file for a browser; \"-\": standard output",
	 OPT_TEXT(struct options, html), .group = 1},
	{0, "json", NULL, "prints JSON, with the curves", OPT_FLAG(struct options, json)},
	{0, "store", NULL, "stores it in the job file, too", OPT_FLAG(struct options, store)},
	{0, "nugget", "X", "how far the curve may be from the samples (default 1e-4)",
	 OPT_CALL(set_nugget)},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_fold = {
	.name = "jobprof fold",
	.usage = "[OPTION]... " USAGE_INPUT,
	.about = "Shows what happens inside of a region that was executed many times: samples of\n"
		 "all of its executions are put into one. Says which code follows which, and the\n"
		 "rate of a counter along the region. The region is named by the program, see\n"
		 "libjobprof(3), or is a function, see run --region; without a name, iterations\n"
		 "of 10 ms to 64 s are looked for. The profile needs the family fold.",
	.opts = opts,
};

static int run_options(struct options *o)
{
	int status;

	o->stored = o->store ? memfd_create("fold", MFD_CLOEXEC) : -1;
	if (o->store && o->stored < 0) {
		log_error("--store: %s", strerror(errno));
		return 1;
	}
	status = child_output__write(o->drawn ? o->drawn : "-", o->in.files->path, &POOL_STREAM,
				     fold_file, o);
	if (o->store && !status)
		status = fold_store__write(o->stored, o->in.files->path);
	if (o->store)
		close(o->stored);
	return status;
}

int verb_fold(int argc, char **argv)
{
	struct options o = {.query.nugget = FOLD_NUGGET};
	int status = options__read(&cmd_fold, argc, argv, &o);

	if (status != OPTIONS_GO_ON)
		return status;
	o.drawn = o.svg ? o.svg : o.html;
	if (o.drawn && !strcmp(o.drawn, "-") && o.json)
		return options__wrong(&cmd_fold, "--json with --svg - or --html - would mix on "
						 "standard output");
	if (o.html && !(o.template = html_page__template()))
		return 1;
	status = input_args__choose(&o.in, &cmd_fold, argc, argv, &o.words);
	if (!status)
		status = run_options(&o);
	free(o.template);
	profiles__free(&o.in);
	return status < 0 ? 1 : status;
}
