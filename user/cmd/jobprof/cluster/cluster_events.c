// SPDX-License-Identifier: GPL-2.0-only
/* The counters of a file's bursts, by cluster. */
#include "cmd/jobprof/cluster/cluster_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/burst_counters.h"
#include "base/cleanup.h"

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

static int take_used(struct used *u, const struct model_bursts *b, const struct burst_clusters *c)
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
		if (c->labels[i] == CLUSTER_UNUSED)
			continue;
		u->cluster[u->n] = c->labels[i];
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

int cluster_events__of(const struct model_bursts *b, const struct burst_clusters *c,
		       struct burst_counter **out)
{
	struct used u = {0};
	struct counted_bursts counted;
	int err;

	*out = NULL;
	if (!b->nevents || c->verdict.status != ANALYSIS_OK)
		return 0;
	err = take_used(&u, b, c);
	counted = (struct counted_bursts){
		u.cluster,	     u.run, (const double *const *)u.counts, u.n, b->nevents, c->k,
		find_instructions(b)};
	if (!err)
		*out = calloc(((size_t)c->k + 1) * b->nevents, sizeof(**out));
	if (!err && (!*out || burst_counters__of(&counted, *out) == ANALYSIS_NO_MEMORY))
		err = -ENOMEM;
	free_used(&u, b->nevents);
	return err;
}
