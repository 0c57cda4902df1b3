/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof cluster: which kinds of bursts the threads of a job have. jobprof track: how these change
 * over the windows of a file, or over files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/cluster/burst_track.h"
#include "analysis/cluster/cluster_code.h"
#include "analysis/counters/burst_counters.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/html_page.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/verbs.h"
#include "jobfile/select.h"
#include "model/bursts.h"
#include "model/model.h"
#include "view/cluster/cluster_view.h"
#include "view/report/report_text.h"

/* ---- options of both */

#define WINDOW_S 60 /* of track of one file, where --window sets no other */

struct options {
	struct cluster_request request;
	double window; /* s; 0: none */
	bool given;    /* how bursts are compared */
	bool json;
	/* of cluster */
	struct select_words words;
	const char *svg, *html;
	bool csv, regions, code;
	/* of track */
	const struct job_input *files;
	unsigned n;
};

static int find_feature(const char *word, size_t len)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		if (strlen(burst_features[f].word) == len &&
		    !strncmp(burst_features[f].word, word, len))
			return f;
	return -1;
}

static int read_by(void *to, const struct opt *o, const char *list)
{
	struct options *w = to;
	struct cluster_request *q = &w->request;

	w->given = true;
	q->dims = 0;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int f = find_feature(p, len);

		if (f < 0 || q->dims == CLUSTER_MAX_DIMS) {
			log_error("--by %s: it is a list of up to %d of run, gap, duration, share",
				  list, CLUSTER_MAX_DIMS);
			return 2;
		}
		q->by[q->dims++] = (enum burst_feature)f;
		p += len;
		if (!*p)
			return 0;
	}
}

static int read_eps(void *to, const struct opt *o, const char *arg)
{
	struct options *w = to;
	struct cluster_request *q = &w->request;

	w->given = true;
	if (!parse_double(arg, &q->eps) && q->eps >= 1e-6 && q->eps <= 1)
		return 0;
	log_error("--eps %s: it is a number from 0.000001 to 1", arg);
	return 2;
}

static int read_min_pts(void *to, const struct opt *o, const char *arg)
{
	struct options *w = to;
	uint32_t n;

	w->given = true;
	if (parse_u32(arg, &n) || n < 1 || n > 1000000) {
		log_error("--min-pts %s: it is a number from 1 to 1000000", arg);
		return 2;
	}
	w->request.min_pts = n;
	return 0;
}

static int read_window(void *to, const struct opt *o, const char *arg)
{
	struct options *w = to;

	if (!parse_double(arg, &w->window) && w->window >= 0.001)
		return 0;
	log_error("--window %s: it is a number of seconds, 0.001 or more", arg);
	return 2;
}

static void print_by(FILE *out)
{
	for (int f = 0; f < BURST_FEATURES; f++)
		fprintf(out, "%s ", burst_features[f].word);
}

/* How bursts are compared. */
#define OPTS_COMPARE                                                                               \
	{0,                                                                                        \
	 "by",                                                                                     \
	 "LIST",                                                                                   \
	 "compares bursts by run, gap, duration, share: up to three of them (default run,gap)",    \
	 OPT_CALL(read_by),                                                                        \
	 .values = print_by},                                                                      \
		{0, "eps", "X",                                                                    \
		 "bursts are neighbours within this distance, the range of each of LIST being 1 "  \
		 "(default: by the distances that there are)",                                     \
		 OPT_CALL(read_eps)},                                                              \
	{                                                                                          \
		0, "min-pts", "N",                                                                 \
			"bursts that make a cluster's core (default 10; of fewer than 200 bursts " \
			"4)",                                                                      \
			OPT_CALL(read_min_pts)                                                     \
	}

static const struct opt cluster_opts[] = {
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPTS_COMPARE,
	{0, "window", "S", "follows the clusters over windows of S seconds, too",
	 OPT_CALL(read_window)},
	{0, "regions", NULL, "by the regions of the programs, in the place of clusters",
	 OPT_FLAG(struct options, regions), .group = 2},
	{0, "code", NULL, "by the code that most of their samples are in, in the place of clusters",
	 OPT_FLAG(struct options, code), .group = 2},
	{0, "whole", NULL, "clusters all bursts, not a part of very many, however long that takes",
	 OPT_FLAG(struct options, request.whole)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, json), .group = 1},
	{0, "csv", NULL, "as CSV, a line per burst with its cluster", OPT_FLAG(struct options, csv),
	 .group = 1},
	{0, "svg", "FILE", "writes a scatter plot there; \"-\": standard output",
	 OPT_TEXT(struct options, svg), .group = 1},
	{0, "html", "FILE", "writes plot and table as a page; \"-\": standard output",
	 OPT_TEXT(struct options, html), .group = 1},
	OPT_OVERWRITE,
	{0},
};

const struct command cmd_cluster = {
	.name = "jobprof cluster",
	.usage = "[OPTION]... " USAGE_INPUT,
	.about = "Finds which kinds of bursts the threads of a job have: a burst is what a thread\n"
		 "does between two waits. Prints a table of the kinds, called clusters, and which\n"
		 "of them each task had over time. The profile must have the family burst.",
	.opts = cluster_opts,
};

static const struct opt track_opts[] = {
	OPT_JOBS(struct options),
	OPT_INPUT(struct options),
	OPTS_COMPARE,
	{0, "window", "S", "of one FILE: seconds of a window (default 60)", OPT_CALL(read_window)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, json)},
	{0},
};

const struct command cmd_track = {
	.name = "jobprof track",
	.usage = "[OPTION]... " USAGE_INPUTS,
	.about = "Follows the clusters of bursts (jobprof cluster) over several runs, each FILE\n"
		 "being one, or over the windows of one FILE: which clusters are the same, how\n"
		 "their run times and shares change, and whether the run has become stable.",
	.opts = track_opts,
};

/* Logs why a file cannot be read. Returns 1. */
static int say_cannot(const char *path, int err)
{
	if (err == -ENODATA)
		log_error("%s: there are no bursts: they are recorded where the family burst is "
			  "asked for, as by \"jobprof run --series all,burst\"",
			  path);
	else if (err == -ERANGE)
		log_error("%s: no burst was as long as BurstMin of jobprof.conf: only such ones "
			  "can be compared",
			  path);
	else if (err == -ENOMSG)
		log_error("%s: it has no samples: see jobprof run --series all,burst,fold", path);
	else if (err == -EMSGSIZE)
		log_error("%s: it has more samples or bursts than are read for this: 1048576",
			  path);
	else if (err == -ENXIO)
		log_error("%s: its programs have named no region, or only waits: see jobprof run "
			  "--region, and "
			  "jobprof_region_begin in libjobprof(3)",
			  path);
	else if (err == -ESRCH)
		log_error("%s: it has no such step", path);
	else if (err == -ESTALE)
		log_error("%s: the clock was set during the step: which bursts were in which "
			  "region is not known",
			  path);
	else if (err == -E2BIG)
		log_error("%s: there are more than 1000 windows: give longer ones", path);
	else if (err == -ENOMEM)
		log_error("%s: no memory", path);
	else
		log_error("%s: %s", path, model_file__strerror(err));
	return 1;
}

/* ---- track, and the windows of cluster */

/* A file without bursts may have windows that tell themselves which of their clusters are alike. */
static int add_file(const struct options *o, const struct job_input *in, struct burst_track *t)
{
	const struct selection sel = {.steps = in->steps, .nsteps = in->nsteps};
	const char *path = in->path;
	struct model_bursts b;
	int err = model_bursts__read(&b, path, &sel);

	if (!err && o->n == 1)
		err = burst_track__windows(t, &b, &o->request, o->window);
	else if (!err)
		err = burst_track__add(t, &b, &o->request, path);
	t->all += b.all;
	t->kept += b.n;
	model_bursts__free(&b);
	if ((err == -ENOMSG || err == -ENODATA) && o->n == 1) {
		int stored = burst_track__stored(t, path);

		err = stored == -ENODATA ? err : stored;
	}
	return err ? say_cannot(path, err) : 0;
}

/* Compares each piece with the one before, where the file does not tell their likeness. */
static int compare(const struct options *o, struct burst_track *t)
{
	if (t->n && t->v[0].names)
		return 0;
	if (t->n < 2) {
		log_error("%s: it has one window of %g s: --window gives shorter ones",
			  o->files->path, o->window);
		return 1;
	}
	return burst_track__compare(t, o->request.dims) == ANALYSIS_OK
		       ? 0
		       : say_cannot(o->files->path, -ENOMEM);
}

struct tracked {
	const struct options *o;
	const struct burst_track *t;
};

static int print_track(void *arg, FILE *out)
{
	const struct tracked *w = arg;

	if (w->o->json)
		return json__print(track_view__json(w->t), out, JSON_INDENT(2));
	track_view__print(w->t, out);
	return 0;
}

static int track_files(void *arg, int fd, bool *keep)
{
	const struct options *o = arg;
	struct burst_track t = {0};
	struct tracked w = {o, &t};
	int status = 0, err;

	for (unsigned i = 0; !status && i < o->n; i++)
		status = add_file(o, &o->files[i], &t);
	if (!status)
		status = compare(o, &t);
	err = status ? 0 : child_output__stream(fd, print_track, &w);
	if (err)
		log_error("the clusters cannot be written: %s", strerror(-err));
	*keep = !status && !err;
	burst_track__free(&t);
	return status || err ? 1 : 0;
}

/* The bursts that cluster has read, in windows: below its text, or in its JSON. */
static int follow(const struct options *o, const struct model_bursts *b, FILE *out, json_t *json)
{
	struct burst_track t = {.all = b->all, .kept = b->n};
	int err = burst_track__windows(&t, b, &o->request, o->window);

	if (!err && burst_track__compare(&t, o->request.dims) != ANALYSIS_OK)
		err = -ENOMEM;
	if (!err && json)
		json__set(json, "windows", track_view__json(&t));
	else if (!err) {
		fputs("\nWindows\n", out);
		track_view__print(&t, out);
	}
	burst_track__free(&t);
	return err;
}

/* ---- cluster */

struct work {
	const struct options *o;
	const char *path;
	struct selection sel; /* of steps */
	char *template;	      /* of --html */
};

struct printing {
	const struct options *o;
	const struct cluster_view *v;
	FILE *out;
};

static void put_csv(void *arg, const struct burst_row *row, unsigned label)
{
	const struct printing *p = arg;

	cluster_csv__row(p->v->bursts, row, label, p->out);
}

static int print_text(const struct printing *p)
{
	const struct options *o = p->o;

	cluster_view__print(p->v, spark__width(p->out), p->out);
	return o->window > 0 ? follow(o, p->v->bursts, p->out, NULL) : 0;
}

static int print_json(const struct printing *p)
{
	json_t *json = cluster_view__json(p->v);
	int err = !json ? -ENOMEM : p->o->window > 0 ? follow(p->o, p->v->bursts, p->out, json) : 0;

	if (!err)
		return json__print(json, p->out, JSON_INDENT(2));
	json_decref(json);
	return err;
}

static int print_clusters(void *arg, FILE *out)
{
	struct printing *p = arg;

	p->out = out;
	if (p->o->json)
		return print_json(p);
	if (p->o->csv) {
		cluster_csv__head(p->v->bursts, out);
		return burst_clusters__each(p->v->clusters, p->v->bursts, put_csv, p);
	}
	if (!p->o->svg)
		return print_text(p);
	cluster_view__svg(p->v, out);
	return 0;
}

static const char *output_of(const struct options *o)
{
	return o->svg ? o->svg : o->html ? o->html : "-";
}

static int write_out(const struct work *w, const struct cluster_view *v, int fd)
{
	struct printing p = {w->o, v, NULL};
	int err = w->template ? html_page__put(fd, w->template, cluster_view__page(v))
			      : child_output__stream(fd, print_clusters, &p);

	if (err == -E2BIG)
		log_error("%s: there are more than 1000 windows: give longer ones", w->path);
	else if (err)
		log_error("%s: cannot be written: %s", output_of(w->o), strerror(-err));
	return err ? 1 : 0;
}

/* What clusters, or what is in their place, are called. */
struct naming {
	struct cluster_regions regions;
	struct cluster_code code;
};

/* The clusters of the file's bursts, or what is in their place. */
static int find_clusters(struct burst_clusters *c, struct naming *names, const struct options *o,
			 const struct model_bursts *b)
{
	if (o->regions)
		return cluster_regions__of(&names->regions, c, b);
	if (o->code)
		return cluster_code__label(&names->code, c, b);
	return burst_clusters__of_file(c, b, &o->request);
}

/* Clusters are good without. */
static void find_code(struct cluster_code *code, const struct work *w, const struct model_bursts *b,
		      const struct burst_clusters *c)
{
	int err = 0;

	if (!w->o->regions && !w->o->code && c->verdict.status == ANALYSIS_OK)
		err = cluster_code__of(code, b, c);
	if (err == -EMSGSIZE)
		log_error("%s: more than %u samples: which code bursts execute is left out",
			  w->path, CLUSTER_CODE_ROWS);
	else if (err)
		log_error("%s: its samples cannot be read: which code bursts execute is left out",
			  w->path);
}

static int cluster_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct model_bursts b;
	struct burst_clusters c = {0};
	struct naming names = {0};
	char title[MODEL_TITLE];
	struct cluster_view v = {.path = w->path,
				 .title = title,
				 .bursts = &b,
				 .clusters = &c,
				 .request = &w->o->request};
	struct burst_counter *counters = NULL;
	struct model_files files;
	int err, status = 1;

	model_files__open(&files, &(struct job_input){.path = w->path}, 1);
	err = model_bursts__read(&b, w->path, &w->sel);
	model_title__read(w->path, title);
	if (!err)
		err = find_clusters(&c, &names, w->o, &b);
	if (err)
		say_cannot(w->path, err);
	else if (c.verdict.status != ANALYSIS_OK && (w->o->svg || w->o->html))
		log_error("%s: %s: %s", w->path, analysis_status__name(c.verdict.status),
			  report_reason__words(&c.verdict));
	else if (c.verdict.status == ANALYSIS_OK &&
		 burst_counters__of(&counters, &b, c.labels, c.k))
		say_cannot(w->path, -ENOMEM);
	else {
		find_code(&names.code, w, &b, &c);
		v.counters = counters;
		v.codes = w->o->code ? NULL : names.code.clusters;
		v.single_codes = names.code.singles;
		v.regions = w->o->code ? names.code.names : names.regions.names;
		v.of = w->o->code ? "code" : "region";
		status = write_out(w, &v, fd);
	}
	*keep = !status;
	free(counters);
	cluster_code__free(&names.code);
	cluster_regions__free(&names.regions);
	burst_clusters__free(&c);
	model_bursts__free(&b);
	model_files__close(&files);
	return status;
}

/* ---- the verb */

int verb_cluster(int argc, char **argv)
{
	struct options o = {.request = CLUSTER_REQUEST};
	struct profiles in;
	struct work w = {.o = &o};
	int status;

	status = options__read(&cmd_cluster, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if ((o.regions || o.code) && (o.svg || o.html || o.csv || o.window > 0))
		return options__wrong(&cmd_cluster, "--regions and --code as text or --json only");
	if ((o.regions || o.code) && (o.given || o.request.whole))
		return options__wrong(&cmd_cluster, "--by, --eps, --min-pts and --whole for "
						    "clusters, not for --regions and --code");
	status = input_args__choose(&in, &cmd_cluster, argc, argv, &o.words);
	if (!status && o.html) {
		w.template = html_page__template();
		status = w.template ? 0 : 1;
	}
	if (!status) {
		w.path = in.files->path;
		w.sel = (struct selection){.steps = in.files->steps, .nsteps = in.files->nsteps};
		status = child_output__write(output_of(&o), w.path, &POOL_STREAM, cluster_file, &w);
	}
	free(w.template);
	profiles__free(&in);
	return status < 0 ? 1 : status;
}

int verb_track(int argc, char **argv)
{
	struct options o = {.request = CLUSTER_REQUEST};
	struct profiles in;
	int status;

	status = options__read(&cmd_track, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	status = profiles__find(&in, &(struct profile_words){
					     .jobs = o.words.jobs,
					     .where = o.words.input,
					     .words = argv + optind,
					     .nwords = (unsigned)(argc - optind),
				     });
	o.files = in.files;
	o.n = in.nfiles;
	if (!status && o.n > 1 && o.window > 0)
		status = options__wrong(&cmd_track, "--window is for one FILE");
	if (!(o.window > 0))
		o.window = WINDOW_S;
	if (!status)
		status = child_output__write("-", o.files->path, &POOL_STREAM, track_files, &o);
	status |= in.lacks_job;
	profiles__free(&in);
	return status < 0 ? 1 : status;
}
