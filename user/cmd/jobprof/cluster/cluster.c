// SPDX-License-Identifier: GPL-2.0-only
/* jobprof cluster: which kinds of bursts the threads of a job have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/cluster/cluster_args.h"
#include "cmd/jobprof/input_args.h"
#include "cmd/jobprof/input_file.h"
#include "cmd/jobprof/run/child_output.h"
#include "cmd/jobprof/verbs.h"
#include "view/cluster/cluster_view.h"
#include "view/report/spark.h"

enum { OPT_SVG = OPT_LONG, OPT_HTML, OPT_JSON, OPT_WINDOW, OPT_WHOLE, OPT_CSV };

static const struct opt opts[] = {
	OPT_JOBS,
	OPT_INPUT,
	OPTS_CLUSTER,
	{OPT_WINDOW, "window", "S", "follows the clusters over windows of S seconds, too"},
	{OPT_WHOLE, "whole", NULL, "clusters all bursts, however long that takes"},
	{OPT_JSON, "json", NULL, "as JSON"},
	{OPT_CSV, "csv", NULL, "as CSV, a line per burst with its cluster"},
	{OPT_SVG, "svg", "FILE", "writes a scatter plot there; \"-\": standard output"},
	{OPT_HTML, "html", "FILE", "writes plot and table as a page; \"-\": standard output"},
	{0},
};

static const struct opt_values values[] = {
	{OPT_BY, cluster_args__print_by},
	{0},
};

const struct command cmd_cluster = {
	.name = "jobprof cluster",
	.usage = "[OPTION]... " USAGE_INPUT,
	.about = "Finds which kinds of bursts the threads of a job have: a burst is what a thread\n"
		 "does between two waits. Prints a table of the kinds, called clusters, and which\n"
		 "of them each task had over time. The profile must have the family burst.",
	.opts = opts,
	.values = values,
};

struct options {
	struct cluster_args args;
	const char *jobs, *input, *svg, *html;
	bool json, csv;
};

struct work {
	const struct options *o;
	const char *path;
};

/* ---- in a limited child */

static int follow(const struct options *o, const struct model_bursts *b, FILE *out, json_t *json)
{
	struct cluster_pieces p = {0};
	struct burst_track t;
	int err = cluster_pieces__windows(&p, b, &o->args);
	struct track_view v = {&t, p.v, p.labels, p.n};

	if (!err && burst_track__of(&t, p.v, p.n, o->args.request.dims) != ANALYSIS_OK)
		err = -ENOMEM;
	if (!err && json)
		json__set(json, "windows", track_view__json(&v));
	else if (!err) {
		fputs("\nWindows\n", out);
		track_view__print(&v, out);
	}
	cluster_pieces__free(&p);
	return err;
}

static int print(const struct work *w, const struct cluster_view *v, FILE *out)
{
	const struct options *o = w->o;
	json_t *json = o->json ? cluster_view__json(v) : NULL;
	int err = o->json && !json ? -ENOMEM : 0;

	if (o->csv)
		cluster_view__csv(v, out);
	else if (o->svg)
		cluster_view__svg(v, out);
	else if (o->html)
		cluster_view__html(v, out);
	else if (!o->json)
		cluster_view__print(v, spark__width(out), out);
	if (!err && o->args.window > 0 && !o->svg && !o->html && !o->csv)
		err = follow(o, v->bursts, out, json);
	if (json && !err && json__dump(json, out, JSON_INDENT(2)))
		err = -EIO;
	if (json && !err)
		fputs("\n", out);
	json_decref(json);
	return err;
}

static int write_out(const struct work *w, const struct cluster_view *v, int fd)
{
	FILE *out = fdopen(dup(fd), "w");
	int err = out ? print(w, v, out) : -errno;

	if (out && ferror(out) && !err)
		err = -EIO;
	if (out && fclose(out) && !err)
		err = -errno;
	if (err == -E2BIG)
		log_error("%s: there are more than 1000 windows: give longer ones", w->path);
	else if (err)
		log_error("%s: cannot be written: %s", w->path, strerror(-err));
	return err ? 1 : 0;
}

static int cluster_file(void *arg, int fd, bool *keep)
{
	const struct work *w = arg;
	struct model_bursts b;
	struct burst_clusters c = {0};
	struct cluster_view v = {w->path, &b, &c, &w->o->args.request, NULL};
	struct burst_counter *counters = NULL;
	int err = model_bursts__read(&b, w->path), status = 1;
	struct burst_columns columns = cluster_args__columns(&b);

	if (err)
		cluster_args__cannot(w->path, err);
	else if (burst_clusters__of(&c, &columns, v.request) == ANALYSIS_NO_MEMORY)
		cluster_args__cannot(w->path, -ENOMEM);
	else if (c.verdict.status != ANALYSIS_OK && (w->o->svg || w->o->html))
		log_error("%s: %s: %s", w->path, analysis_status__name(c.verdict.status),
			  c.verdict.reason);
	else if (cluster_events__of(&b, &c, &counters))
		cluster_args__cannot(w->path, -ENOMEM);
	else {
		v.counters = counters;
		status = write_out(w, &v, fd);
	}
	*keep = !status;
	free(counters);
	burst_clusters__free(&c);
	model_bursts__free(&b);
	return status;
}

/* ---- the verb */

static int set_option(void *ctx, int letter, const char *arg)
{
	struct options *o = ctx;
	int taken = cluster_args__take(&o->args, letter, arg);

	if (taken >= 0)
		return taken;
	switch (letter) {
	case 'j':
		o->jobs = arg;
		break;
	case 'i':
		o->input = arg;
		break;
	case OPT_SVG:
		o->svg = arg;
		break;
	case OPT_HTML:
		o->html = arg;
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_CSV:
		o->csv = true;
		break;
	case OPT_WHOLE:
		o->args.request.whole = true;
		break;
	case OPT_WINDOW:
		return cluster_args__window(&o->args, arg);
	}
	return 0;
}

int verb_cluster(int argc, char **argv)
{
	struct options o = {0};
	struct input_file in;
	struct work w = {.o = &o};
	int status;

	cluster_args__init(&o.args);
	status = options__read(&cmd_cluster, argc, argv, set_option, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!!o.svg + !!o.html + o.json + o.csv > 1)
		return options__wrong(&cmd_cluster, "one of --json, --csv, --svg and --html");
	status = input_args__word(&cmd_cluster, argc, argv, &o.input);
	if (status)
		return status;
	if (!o.jobs && !o.input)
		return options__wrong(&cmd_cluster, "which file: FILE or -j JOB");
	status = input_file__choose(&in, o.jobs, o.input);
	if (status)
		return status;
	w.path = in.path;
	status = child_output__write(o.svg    ? o.svg
				     : o.html ? o.html
					      : "-",
				     in.path, cluster_file, &w);
	input_file__free(&in);
	return status < 0 ? 1 : status;
}
