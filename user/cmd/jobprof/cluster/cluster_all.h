/* SPDX-License-Identifier: GPL-2.0-only */
/* The clusters of all bursts of a file, also of those that were not kept. */
#ifndef JP_CMD_JOBPROF_CLUSTER_ALL_H
#define JP_CMD_JOBPROF_CLUSTER_ALL_H

#include "analysis/cluster/burst_clusters.h"
#include "model/bursts.h"

/* Calls fn with every burst, in the order of the file, and its cluster; CLUSTER_UNUSED: in none. 0,
 * or as model_bursts__each(). */
int cluster_all__each(const struct model_bursts *b, const struct burst_clusters *c,
		      void (*fn)(void *arg, const struct burst_row *row, unsigned label),
		      void *arg);
/* Where bursts were not kept, what adds up in the table becomes that of all. 0, or as above. */
int cluster_all__settle(const struct model_bursts *b, struct burst_clusters *c);

#endif
