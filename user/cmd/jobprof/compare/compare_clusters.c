// SPDX-License-Identifier: GPL-2.0-only
/* The clusters of two runs' bursts, by the names that they have in both. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "cmd/jobprof/cluster/cluster_args.h"
#include "cmd/jobprof/compare/compare_besides.h"
#include "jobfile/select.h"
#include "view/cluster/cluster_view.h"

#define RUNS 2

/* -ENODATA: it has no clusters. */
static int read_run(struct cluster_pieces *p, const struct compare_inside *run,
		    const struct cluster_request *how)
{
	const struct job_input *in = run->in->v;
	const struct selection steps = {.steps = in->steps, .nsteps = in->nsteps};
	struct model_bursts b;
	int err = model_bursts__read(&b, in->path, &steps);

	if (!err)
		err = cluster_pieces__add(p, &b, how, in->path);
	if (!err && (p->v[p->n - 1].c.verdict.status != ANALYSIS_OK || !p->v[p->n - 1].c.k))
		err = -ENODATA;
	p->all += b.all;
	p->kept += b.n;
	model_bursts__free(&b);
	return err == -ERANGE || err == -ENOMSG ? -ENODATA : err;
}

/* Of the bursts that are in clusters or noise. */
static double run_time(const struct burst_piece *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->c.n; i++)
		if (p->c.labels[i] != CLUSTER_UNUSED)
			sum += p->run[i];
	return sum;
}

/* Name 0 is noise. NULL: the run has no bursts of it. */
static const struct burst_cluster *cluster_of(const struct burst_piece *p, unsigned name)
{
	for (unsigned k = 1; name && k <= p->c.k; k++)
		if (p->names[k] == name)
			return &p->c.clusters[k];
	return name || !p->c.clusters[0].n ? NULL : &p->c.clusters[0];
}

/* By a number, for A and B are the runs, and by the run time of a burst. */
static void name_of(const struct cluster_pieces *p, unsigned name, char *text, size_t size)
{
	const struct burst_cluster *c = cluster_of(&p->v[0], name);
	cluster_time run;

	if (!c)
		c = cluster_of(&p->v[1], name);
	if (name && c)
		snprintf(text, size, "%u, of %s", name, cluster_time__of(c->run, run));
	else
		snprintf(text, size, "noise");
}

static void put_cluster(const struct cluster_pieces *p, unsigned name, struct message *m)
{
	const bool is_all = p->kept == p->all;
	double share[RUNS], s[RUNS];
	char text[64];

	for (unsigned i = 0; i < RUNS; i++) {
		const struct burst_cluster *c = cluster_of(&p->v[i], name);

		share[i] = c ? c->share : 0;
		s[i] = is_all ? share[i] * run_time(&p->v[i]) : NAN;
	}
	name_of(p, name, text, sizeof(text));
	compare_rows__put(m, text, share, s);
}

int compare_clusters__put(const struct compare_inside runs[2], struct message *m)
{
	struct cluster_pieces p = {0};
	struct burst_track t = {0};
	struct cluster_args args;
	int err = 0;

	cluster_args__init(&args);
	for (unsigned i = 0; !err && i < RUNS; i++)
		err = read_run(&p, &runs[i], &args.request);
	if (!err && burst_track__of(&t, p.v, p.n, args.request.dims) != ANALYSIS_OK)
		err = -ENOMEM;
	for (unsigned name = 1; !err && name <= t.names && name < COMPARE_BESIDES_ROWS; name++)
		put_cluster(&p, name, m);
	if (!err)
		put_cluster(&p, 0, m);
	cluster_pieces__free(&p);
	return err;
}
