/* SPDX-License-Identifier: GPL-2.0-only */
/* What code bursts execute: the samples of the family fold that were taken in them. */
#ifndef JP_ANALYSIS_CLUSTER_CODE_H
#define JP_ANALYSIS_CLUSTER_CODE_H

#include "analysis/cluster/burst_clusters.h"
#include "jobfile/select.h"
#include "model/bursts.h"
#include "model/points.h"

#define CLUSTER_CODE_ROWS (1u << 20) /* samples of a file that are read */

/* What most samples of a cluster or of a burst are in. */
struct burst_code {
	const char *name; /* of a function or kind of library; NULL: there is no sample */
	size_t samples, all;
};

struct cluster_code {
	struct points points;
	struct burst_code *clusters; /* 0..k; NULL: the file has no samples */
	struct burst_code *singles;  /* by burst: of those in no cluster */
};

/* b was read from the same steps and nodes of the file. 0, also without samples; -EMSGSIZE: there
 * are more than CLUSTER_CODE_ROWS; or as points__read(). cluster_code__free() in all cases. */
int cluster_code__of(struct cluster_code *out, const struct model_bursts *b,
		     const struct burst_clusters *c);
void cluster_code__free(struct cluster_code *c);

#endif
