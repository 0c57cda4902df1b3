/* SPDX-License-Identifier: GPL-2.0-only */
/* Bursts by the code that they execute, in the place of clusters. */
#ifndef JP_CMD_JOBPROF_CLUSTER_BY_CODE_H
#define JP_CMD_JOBPROF_CLUSTER_BY_CODE_H

#include "analysis/cluster/burst_clusters.h"
#include "model/bursts.h"

struct cluster_code;

#define CLUSTER_CODES 26 /* those with most run time */

/*
 * A burst is of the function or kind of library that most of its samples are in; label 0: it has
 * none, or it is of one beyond CLUSTER_CODES. names gets c->k of them, by their run time, which are
 * good until cluster_code__free(). 0; -ENOMSG: the file has no samples; -EMSGSIZE: it has more
 * bursts than are kept; or as cluster_code__of().
 */
int cluster_by_code__of(char *names[CLUSTER_CODES], struct cluster_code *code,
			struct burst_clusters *c, const struct model_bursts *b,
			const struct burst_columns *columns);

#endif
