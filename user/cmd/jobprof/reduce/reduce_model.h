/* SPDX-License-Identifier: GPL-2.0-only */
/* The clusters of bursts over all nodes: found in a sample at the root, then every process says of
 * all its bursts in which of them they are. */
#ifndef JP_CMD_JOBPROF_REDUCE_REDUCE_MODEL_H
#define JP_CMD_JOBPROF_REDUCE_REDUCE_MODEL_H

#include "analysis/cluster/cluster.h"
#include "analysis/reduction/reduction.h"
#include "pool/message.h"

#define MODEL_SERIES   "Bursts"
#define MODEL_DIMS     2
#define MODEL_CLUSTERS 1000u  /* with the most run time; bursts of others are noise */
#define MODEL_SAMPLE   20000u /* bursts that are clustered, at most 50000 */

/* The columns that are features, each by its logarithm. */
extern const char *const model_features[MODEL_DIMS];

struct reduce_model {
	double lo[MODEL_DIMS], hi[MODEL_DIMS]; /* of the logarithms over all bursts */
	double eps;
	uint64_t min_pts, n;
	unsigned k;	  /* clusters; 0: none was found */
	double *points;	  /* n normalised bursts of the sample */
	unsigned *labels; /* of these */
};

/* Clusters the sample of an ordered reduction. ANALYSIS_INSUFFICIENT: there are too few bursts. */
enum analysis_status reduce_model__of(struct reduce_model *m, const struct reduction *r);
void reduce_model__free(struct reduce_model *m);

void reduce_model__put(struct message *to, const struct reduce_model *m);
/* 0; -EBADMSG; -ENOMEM. reduce_model__free() in all cases. */
int reduce_model__take(struct message *from, struct reduce_model *m);

/* labels[i] of n bursts, v being their features as they are in the file: 0 is noise;
 * MODEL_UNUSED: a feature is not known or not above 0. */
#define MODEL_UNUSED (~0u)
enum analysis_status reduce_model__classify(const struct reduce_model *m, const double *v, size_t n,
					    unsigned *labels);

/* The column of a cluster in a reduction by clusters: "3/RunTime". */
void reduce_model__column(char *name, size_t size, unsigned label, unsigned feature);

#endif
