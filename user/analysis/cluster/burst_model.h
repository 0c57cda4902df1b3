/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of clusters: points of some of the bursts, with their clusters. Any other burst is in
 * the cluster of the nearest of these points. */
#ifndef JP_ANALYSIS_BURST_MODEL_H
#define JP_ANALYSIS_BURST_MODEL_H

#include <stdint.h>

#include "analysis/cluster/cluster.h"

/* What bursts are compared by. */
enum burst_feature { FEATURE_RUN, FEATURE_GAP, FEATURE_DURATION, FEATURE_SHARE, BURST_FEATURES };

struct burst_feature_info {
	const char *word; /* of --by */
	const char *doc;
	bool log; /* else within [0, 1] */
};
extern const struct burst_feature_info burst_features[BURST_FEATURES];

/* A thread's first burst has no gap before it. This is its gap as a feature: such bursts are like
 * each other, and far from all bursts that have a gap. */
#define BURST_NO_GAP 1e-9

struct burst_model {
	enum burst_feature by[CLUSTER_MAX_DIMS];
	unsigned dims;
	double lo[CLUSTER_MAX_DIMS], hi[CLUSTER_MAX_DIMS]; /* bounds of the scale, of logarithms
							      where the feature has them */
	double eps;
	uint64_t min_pts, n;
	unsigned k;	  /* clusters; 0: none was found */
	double *points;	  /* n rows of dims scaled features */
	unsigned *labels; /* of these */
};

void burst_model__free(struct burst_model *m);
/* Raw features, n rows: a gap that is not known becomes BURST_NO_GAP. */
void burst_model__know_gaps(const struct burst_model *m, double *v, size_t n);
/* used[i]: each of the raw features of row i of v can be compared. Returns how many are used. */
size_t burst_model__filter(const struct burst_model *m, const double *v, size_t n, bool *used);
/* Sets the scale by n rows of raw features that can be compared. */
enum analysis_status burst_model__range(struct burst_model *m, const double *v, size_t n);
/* Widens the scale of feature d to include least and most, its extremes in further bursts. */
void burst_model__widen(struct burst_model *m, unsigned d, double least, double most);
/* Raw features become scaled ones; out may be v. */
void burst_model__scale(const struct burst_model *m, const double *v, size_t n, double *out);
/* Finds the clusters of m->points: labels and k are set, and eps where it is not above 0. */
enum analysis_status burst_model__find(struct burst_model *m);

/* labels[i] of row i of raw features: 0 is noise; CLUSTER_UNUSED: it cannot be compared. */
#define CLUSTER_UNUSED (~0u)
enum analysis_status burst_model__classify(const struct burst_model *m, const double *v, size_t n,
					   unsigned *labels);

#endif
