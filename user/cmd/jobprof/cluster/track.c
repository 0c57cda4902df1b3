/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof track: clusters of bursts that are followed over runs, or over windows of one run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/child_output.h"
#include "cmd/jobprof/cluster/cluster_args.h"
#include "cmd/jobprof/verbs.h"
#include "jobfile/stored.h"
#include "view/cluster/cluster_view.h"

/* ---- clusters of windows as jobprof reduce --follow has put them into a file */

#define NAMES_MAX 1000000.0

/* A row of the table is a cluster, the first one noise. */
static int take_table(struct burst_piece *p, const json_t *rows)
{
	const size_t n = json_array_size(rows);

	p->c.clusters = calloc(n + 1, sizeof(*p->c.clusters));
	p->names = calloc(n + 1, sizeof(*p->names));
	if (!p->c.clusters || !p->names)
		return -ENOMEM;
	p->c.k = n ? (unsigned)n - 1 : 0;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		const double name = json__number_of(row, "cluster"), of = json__number_of(row, "n");

		p->names[i] = name >= 0 && name <= NAMES_MAX ? (unsigned)name : 0;
		p->c.clusters[i] =
			(struct burst_cluster){.n = of >= 0 ? (size_t)of : 0,
					       .share = json__number_of(row, "share"),
					       .run = json__number_of(row, "RunTime_mean"),
					       .gap = json__number_of(row, "Gap_mean")};
		p->c.n += p->c.clusters[i].n;
	}
	return 0;
}

static void take_track(struct burst_piece *p, struct burst_track *t, const json_t *track)
{
	const double least = json__number_of(track, "least_share"),
		     streak = json__number_of(track, "in_a_row");

	p->share = json__number_of(track, "share");
	p->share_before = json__number_of(track, "share_before");
	p->equivalent = json__number_of(track, "same") > 0;
	p->streak = streak >= 0 && streak <= NAMES_MAX ? (unsigned)streak : 0;
	if (!isnan(least))
		t->level.threshold = least;
}

static int add_window(struct cluster_pieces *pieces, struct burst_track *t, const json_t *window,
		      double first_s)
{
	const bool ok =
		!strcmp(json__text_of(window, "status"), analysis_status__name(ANALYSIS_OK));
	struct burst_piece *p;
	char label[64];
	int err;

	snprintf(label, sizeof(label), "%.0f s to %.0f s",
		 json__number_of(window, "source_begin") - first_s,
		 json__number_of(window, "source_end") - first_s);
	p = cluster_pieces__new(pieces, label, NULL);
	if (!p)
		return -ENOMEM;
	p->c.verdict = ok ? (struct analysis_verdict){ANALYSIS_OK, ""}
			  : (struct analysis_verdict){ANALYSIS_INSUFFICIENT, "too_few_bursts"};
	err = take_table(p, json_object_get(window, "table"));
	take_track(p, t, json_object_get(window, "track"));
	for (unsigned k = 1; !err && k <= p->c.k; k++)
		t->names = p->names[k] > t->names ? p->names[k] : t->names;
	pieces->all += p->c.n;
	return err;
}

static int take_windows(struct cluster_pieces *p, struct burst_track *t, json_t *windows)
{
	double first_s = NAN;
	const char *key;
	json_t *one;
	int err = 0;

	json_object_foreach(windows, key, one)
	{
		if (err || !json_object_get(one, "track"))
			continue;
		if (isnan(first_s))
			first_s = json__number_of(one, "source_begin");
		err = add_window(p, t, one, first_s);
	}
	p->kept = p->all;
	t->stable = 0;
	while (t->stable < p->n && p->v[t->stable].streak < CLUSTER_IN_A_ROW)
		t->stable++;
	return !err && !p->n ? -ENODATA : err;
}

/* The windows of jobprof reduce --follow, and what it said of them. 0; -ENODATA: there is none; or
 * as reader__open(). */
static int track_stored_read(struct cluster_pieces *p, struct burst_track *t, const char *path)
{
	struct reader *r = NULL;
	json_t *windows;
	int err = reader__open_results(&r, path);

	*t = (struct burst_track){.level = CLUSTER_LEVEL};
	if (err)
		return err;
	windows = stored__read(r, "clusters", "model");
	err = take_windows(p, t, windows);
	json_decref(windows);
	reader__free(r);
	return err;
}

/* ---- the verb */

#define WINDOW_S 60 /* of one file, where --window says nothing else */

struct options {
	struct cluster_args args;
	bool json;
	char **files;
	size_t n;
};

static const struct opt opts[] = {
	OPTS_CLUSTER(struct options),
	{0, "window", "S", "of one FILE: seconds of a window (default 60)",
	 OPT_CALL_AT(cluster_args__window, struct options, args)},
	{0, "json", NULL, "as JSON", OPT_FLAG(struct options, json)},
	{0},
};

const struct command cmd_track = {
	.name = "jobprof track",
	.usage = "[OPTION]... FILE...",
	.about = "Follows the clusters of bursts (jobprof cluster) over several runs, each FILE\n"
		 "being one, or over the windows of one FILE: which clusters are the same, how\n"
		 "their run times and shares change, and whether the run has become stable.",
	.opts = opts,
};

/* A file without bursts may have windows that say themselves how they are alike. */
static int add_file(const struct options *o, const char *path, struct cluster_pieces *p,
		    struct burst_track *t)
{
	struct model_bursts b;
	int err = model_bursts__read(&b, path, NULL);

	if (!err && o->n == 1)
		err = cluster_pieces__windows(p, &b, &o->args.request, o->args.window);
	else if (!err)
		err = cluster_pieces__add(p, &b, &o->args.request, path);
	p->all += b.all;
	p->kept += b.n;
	model_bursts__free(&b);
	if ((err == -ENOMSG || err == -ENODATA) && o->n == 1) {
		int stored = track_stored_read(p, t, path);

		err = stored == -ENODATA ? err : stored;
	}
	if (err == -E2BIG)
		log_error("%s: there are more than 1000 windows: give longer ones", path);
	else if (err)
		cluster_args__cannot(path, err);
	return err ? 1 : 0;
}

struct printing {
	const struct options *o;
	struct cluster_pieces *p;
	struct burst_track *t;
};

static int print_track(void *arg, FILE *out)
{
	const struct printing *w = arg;
	struct cluster_pieces *p = w->p;
	struct track_view v = {w->t, p->v, p->labels, p->n, p->all, p->kept};

	if (w->o->json)
		return json__print(track_view__json(&v), out, JSON_INDENT(2));
	track_view__print(&v, out);
	return 0;
}

static int write_out(const struct options *o, struct cluster_pieces *p, struct burst_track *t,
		     int fd)
{
	struct printing w = {o, p, t};
	int err = child_output__stream(fd, print_track, &w);

	if (err)
		log_error("the clusters cannot be written: %s", strerror(-err));
	return err ? 1 : 0;
}

/* What each piece has of the one before, where the file does not say it. */
static int compare(const struct options *o, struct cluster_pieces *p, struct burst_track *t)
{
	if (p->n && p->v[0].names)
		return 0;
	if (p->n < 2) {
		log_error("%s: it has one window of %g s: --window gives shorter ones", o->files[0],
			  o->args.window);
		return 1;
	}
	return burst_track__of(t, p->v, p->n, o->args.request.dims) == ANALYSIS_OK
		       ? 0
		       : cluster_args__cannot(o->files[0], -ENOMEM);
}

static int track_files(void *arg, int fd, bool *keep)
{
	const struct options *o = arg;
	struct cluster_pieces p = {0};
	struct burst_track t = {0};
	int status = 0;

	for (size_t i = 0; !status && i < o->n; i++)
		status = add_file(o, o->files[i], &p, &t);
	if (!status)
		status = compare(o, &p, &t);
	if (!status)
		status = write_out(o, &p, &t, fd);
	*keep = !status;
	cluster_pieces__free(&p);
	return status;
}

int verb_track(int argc, char **argv)
{
	struct options o = {0};
	int status;

	cluster_args__init(&o.args);
	status = options__read(&cmd_track, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind == argc)
		return options__wrong(&cmd_track, "which files: FILE...");
	o.files = argv + optind;
	o.n = (size_t)(argc - optind);
	if (o.n > 1 && o.args.window > 0)
		return options__wrong(&cmd_track, "--window is for one FILE");
	if (!(o.args.window > 0))
		o.args.window = WINDOW_S;
	status = child_output__write("-", o.files[0], &POOL_STREAM, track_files, &o);
	return status < 0 ? 1 : status;
}
