// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of clusters of bursts, projected by run time and by instructions. */
#include "analysis/counters/burst_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/counters.h"
#include "base/cleanup.h"
#include "model/bursts.h"

/* n bursts have a cluster in 0..nclusters, a run time in s, and a column per event, NaN where the
 * burst does not have it. */
struct counted_bursts {
	const unsigned *cluster;
	const double *run;
	const double *const *counts;
	size_t n;
	unsigned ncounters, nclusters;
	int instructions; /* which of the events they are; -1: none */
};

struct room {
	struct projected_cluster *clusters;
	struct projection *by_run, *by_ins;
	double *run_of; /* of each cluster's bursts that have the event */
};

static void measure_run(const struct counted_bursts *b, const double *counts, double *run_of)
{
	for (unsigned c = 0; c <= b->nclusters; c++)
		run_of[c] = 0;
	for (size_t i = 0; i < b->n; i++)
		if (!isnan(counts[i]))
			run_of[b->cluster[i]] += b->run[i];
}

static void fill_counter(struct burst_counter *out, const struct room *r, unsigned c)
{
	const struct projection *p = &r->by_run[c];
	double run = r->clusters[c].ins; /* what was projected by */

	*out = (struct burst_counter){.n = p->n_measured,
				      .part = run > 0 ? r->run_of[c] / run : NAN,
				      .per_s = p->per_ins,
				      .per_ins = NAN,
				      .total = p->total,
				      .is_low_confidence = p->is_low_confidence};
}

/* Bursts that count instructions too are projected by these: a slow burst does not do more. */
static enum analysis_status use_instructions(const struct counted_bursts *b, struct room *r,
					     struct burst_counter *out)
{
	const double *ins = b->counts[b->instructions];

	for (unsigned k = 0; k < b->ncounters; k++) {
		enum analysis_status s = counters__project(b->cluster, ins, b->counts[k], b->n, 1,
							   b->nclusters, r->clusters, r->by_ins);

		if (s != ANALYSIS_OK)
			return s;
		for (unsigned c = 0; c <= b->nclusters; c++) {
			struct burst_counter *o = &out[c * b->ncounters + k];
			double all = out[c * b->ncounters + (unsigned)b->instructions].total;

			o->per_ins = r->by_ins[c].per_ins;
			if ((int)k != b->instructions && !isnan(o->per_ins * all))
				o->total = o->per_ins * all;
		}
	}
	return ANALYSIS_OK;
}

/*
 * Fills nclusters + 1 rows of ncounters. The total is per_ins times the cluster's instructions,
 * which are projected by run time; without instructions, per_s times its run time. Errors as
 * counters__project().
 */
static enum analysis_status project(const struct counted_bursts *b, struct burst_counter *out)
{
	size_t n = (size_t)b->nclusters + 1;
	_cleanup_free_ struct projected_cluster *clusters = calloc(n, sizeof(*clusters));
	_cleanup_free_ struct projection *by_run = calloc(n, sizeof(*by_run));
	_cleanup_free_ struct projection *by_ins = calloc(n, sizeof(*by_ins));
	_cleanup_free_ double *run_of = calloc(n, sizeof(*run_of));
	struct room r = {clusters, by_run, by_ins, run_of};

	if (!clusters || !by_run || !by_ins || !run_of)
		return ANALYSIS_NO_MEMORY;
	for (unsigned k = 0; k < b->ncounters; k++) {
		enum analysis_status s = counters__project(b->cluster, b->run, b->counts[k], b->n,
							   1, b->nclusters, clusters, by_run);

		if (s != ANALYSIS_OK)
			return s;
		measure_run(b, b->counts[k], run_of);
		for (unsigned c = 0; c <= b->nclusters; c++)
			fill_counter(&out[c * b->ncounters + k], &r, c);
	}
	return b->instructions < 0 ? ANALYSIS_OK : use_instructions(b, &r, out);
}

/* The bursts that are in a cluster or noise, one after the other. */
struct used {
	unsigned *cluster;
	double *run;
	double **counts;
	size_t n;
};

static void free_used(struct used *u, unsigned nevents)
{
	for (unsigned e = 0; u->counts && e < nevents; e++)
		free(u->counts[e]);
	free(u->counts);
	free(u->cluster);
	free(u->run);
}

static int take_used(struct used *u, const struct model_bursts *b, const unsigned *labels)
{
	u->cluster = malloc((b->n + 1) * sizeof(*u->cluster));
	u->run = malloc((b->n + 1) * sizeof(*u->run));
	u->counts = calloc(b->nevents + 1, sizeof(*u->counts));
	for (unsigned e = 0; u->counts && e < b->nevents; e++)
		if (!(u->counts[e] = malloc((b->n + 1) * sizeof(double))))
			return -ENOMEM;
	if (!u->cluster || !u->run || !u->counts)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		if (labels[i] == BURST_UNUSED)
			continue;
		u->cluster[u->n] = labels[i];
		u->run[u->n] = b->run[i];
		for (unsigned e = 0; e < b->nevents; e++)
			u->counts[e][u->n] = b->counts[e][i];
		u->n++;
	}
	return 0;
}

static int find_instructions(const struct model_bursts *b)
{
	for (unsigned e = 0; e < b->nevents; e++)
		if (!strcmp(b->events[e], "Instructions"))
			return (int)e;
	return -1;
}

int burst_counters__of(struct burst_counter **out, const struct model_bursts *b,
		       const unsigned *labels, unsigned k)
{
	struct used u = {0};
	struct counted_bursts counted;
	int err;

	*out = NULL;
	if (!b->nevents)
		return 0;
	err = take_used(&u, b, labels);
	counted = (struct counted_bursts){
		u.cluster,	     u.run, (const double *const *)u.counts, u.n, b->nevents, k,
		find_instructions(b)};
	if (!err)
		*out = calloc(((size_t)k + 1) * b->nevents, sizeof(**out));
	if (!err && (!*out || project(&counted, *out) == ANALYSIS_NO_MEMORY))
		err = -ENOMEM;
	free_used(&u, b->nevents);
	return err;
}
