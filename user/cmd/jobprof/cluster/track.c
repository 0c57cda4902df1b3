// SPDX-License-Identifier: GPL-2.0-only
/* jobprof track: clusters of bursts that are followed over runs, or over windows of one run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/jobprof/cluster/cluster_args.h"
#include "cmd/jobprof/run/child_output.h"
#include "cmd/jobprof/verbs.h"
#include "view/cluster/cluster_view.h"

#define WINDOW_S 60 /* of one file, where --window says nothing else */

enum { OPT_JSON = OPT_LONG, OPT_WINDOW };

static const struct opt opts[] = {
	OPTS_CLUSTER,
	{OPT_WINDOW, "window", "S", "of one FILE: seconds of a window (default 60)"},
	{OPT_JSON, "json", NULL, "as JSON"},
	{0},
};

static const struct opt_values values[] = {
	{OPT_BY, cluster_args__print_by},
	{0},
};

const struct command cmd_track = {
	.name = "jobprof track",
	.usage = "[OPTION]... FILE...",
	.about = "Follows the clusters of bursts (jobprof cluster) over several runs, each FILE\n"
		 "being one, or over the windows of one FILE: which clusters are the same, how\n"
		 "their run times and shares change, and whether the run has become stable.",
	.opts = opts,
	.values = values,
};

struct options {
	struct cluster_args args;
	bool json;
	char **files;
	size_t n;
};

/* A file without bursts may have windows that say themselves how they are alike. */
static int add_file(const struct options *o, const char *path, struct cluster_pieces *p,
		    struct burst_track *t)
{
	struct model_bursts b;
	int err = model_bursts__read(&b, path, NULL);

	if (!err && o->n == 1)
		err = cluster_pieces__windows(p, &b, &o->args);
	else if (!err)
		err = cluster_pieces__add(p, &b, &o->args.request, path);
	p->all += b.all;
	p->kept += b.n;
	model_bursts__free(&b);
	if ((err == -ENOMSG || err == -ENODATA) && o->n == 1) {
		int stored = track_stored__read(p, t, path);

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

static int set_option(void *ctx, int letter, const char *arg)
{
	struct options *o = ctx;
	int taken = cluster_args__take(&o->args, letter, arg);

	if (taken >= 0)
		return taken;
	if (letter == OPT_WINDOW)
		return cluster_args__window(&o->args, arg);
	o->json = true;
	return 0;
}

int verb_track(int argc, char **argv)
{
	struct options o = {0};
	int status;

	cluster_args__init(&o.args);
	status = options__read(&cmd_track, argc, argv, set_option, &o);
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
	status = child_output__write("-", o.files[0], track_files, &o);
	return status < 0 ? 1 : status;
}
