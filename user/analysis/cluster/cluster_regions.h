/* SPDX-License-Identifier: GPL-2.0-only */
/* Bursts by the regions in which they lie, in the place of clusters. */
#ifndef JP_ANALYSIS_CLUSTER_REGIONS_H
#define JP_ANALYSIS_CLUSTER_REGIONS_H

#include "analysis/cluster/burst_clusters.h"
#include "model/bursts.h"

/* The regions are named, by their run time; k of c. */
struct cluster_regions {
	char **names;
	unsigned n;
};

/*
 * A burst is of the innermost region in whose executions by the same thread at least 95 % of it
 * lies; label 0: of none. 0; -ENXIO: no region has an execution; -ESTALE: a clock was set
 * meanwhile, by which bursts have their times; -ENOMEM, or as reader__open() and points__read().
 */
int cluster_regions__of(struct cluster_regions *r, struct burst_clusters *c,
			const struct model_bursts *b, const struct burst_columns *columns);
void cluster_regions__free(struct cluster_regions *r);

#endif
