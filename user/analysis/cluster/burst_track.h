/* SPDX-License-Identifier: GPL-2.0-only */
/* Clusters of bursts that are followed over windows of time, or over runs. */
#ifndef JP_ANALYSIS_BURST_TRACK_H
#define JP_ANALYSIS_BURST_TRACK_H

#include "analysis/cluster/burst_clusters.h"

/* A window or a run. */
struct burst_piece {
	const double *run; /* of the bursts that c is of */
	struct burst_clusters c;
	/* burst_track__of() fills: */
	unsigned *names;	    /* of clusters 1..c.k, the same over all pieces */
	double share_before, share; /* of the run time of the piece before and of this one: in
				     * clusters that are in both; NaN: of the first */
	bool equivalent;	    /* to the piece before */
	unsigned streak;	    /* of pieces that are equivalent, up to this one */
};

struct burst_track {
	unsigned names; /* 1..names */
	size_t stable; /* the first piece with CLUSTER_IN_A_ROW equivalent ones; n: there is none */
	struct cluster_level level;
};

/* Pieces without clusters have no names, and are not equivalent to any. */
enum analysis_status burst_track__of(struct burst_track *t, struct burst_piece *p, size_t n,
				     unsigned dims);

#endif
