/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of bursts over all nodes: the root finds them in a sample, then every process classifies
 * all its bursts by them. */
#ifndef JP_ANALYSIS_JOB_REDUCE_MODEL_H
#define JP_ANALYSIS_JOB_REDUCE_MODEL_H

#include "analysis/cluster/burst_model.h"
#include "analysis/reduction/reduction.h"
#include "pool/message.h"

#define MODEL_SERIES   "Bursts"
#define MODEL_DIMS     2
#define MODEL_CLUSTERS 1000u	/* with the most run time; bursts of others are noise */
#define MODEL_NAMES    1000000u /* most different numbers of clusters over all windows */
#define MODEL_SAMPLE   20000u	/* bursts that are clustered, at most 50000 */
#define MODEL_WINDOW   5000u	/* the same of a window of --follow */

/* The columns that are features, each by its logarithm. */
extern const char *const model_features[MODEL_DIMS];

/* Clusters the sample of an ordered reduction, as jobprof cluster does where it has all bursts.
 * burst_model__free() in all cases. ANALYSIS_INSUFFICIENT: there are too few bursts. */
enum analysis_status reduce_model__of(struct burst_model *m, const struct reduction *r);

void reduce_model__put(struct message *to, const struct burst_model *m);
/* 0; -EBADMSG; -ENOMEM. burst_model__free() in all cases. */
int reduce_model__take(struct message *from, struct burst_model *m);

/* Adds a burst, whose features v are, to the columns of its cluster. 0 or -errno. */
int reduce_model__add(struct reduction *r, const double *v, unsigned label);
/* The column of a cluster in a reduction by clusters: "3/RunTime". */
void reduce_model__column(char *name, size_t size, unsigned label, unsigned feature);

#endif
