/* SPDX-License-Identifier: GPL-2.0-only */
/* From bursts to clusters: features, a subset, DBSCAN, the labels of the others, the table. */
#ifndef JP_ANALYSIS_BURST_CLUSTERS_H
#define JP_ANALYSIS_BURST_CLUSTERS_H

#include "analysis/cluster/cluster.h"

/* What bursts are compared by. */
enum burst_feature { FEATURE_RUN, FEATURE_GAP, FEATURE_DURATION, FEATURE_SHARE, BURST_FEATURES };

struct burst_feature_info {
	const char *word; /* of --by */
	const char *doc;
	bool log; /* else within [0, 1] */
};
extern const struct burst_feature_info burst_features[BURST_FEATURES];

struct cluster_request {
	enum burst_feature by[CLUSTER_MAX_DIMS];
	unsigned dims;
	double eps;	/* 0: by the distances of near points */
	size_t min_pts; /* 0: CLUSTER_MIN_PTS, or CLUSTER_FEW_MIN_PTS of few bursts */
	bool whole;	/* all bursts are clustered, however many */
};

/* Plain columns of n bursts; s. */
struct burst_columns {
	const double *run, *wall, *on_cpu, *gap;
	const unsigned *thread;
	size_t n;
	unsigned nthreads;
};

/* A line of the table: cluster 0 is noise. */
struct burst_cluster {
	size_t n;
	double share;		  /* of the run time of all that were used */
	double run, spread;	  /* median, and standard deviation over mean */
	double gap;		  /* median of those that are known */
	double on_cpu, used;	  /* on_cpu over wall, run over on_cpu, of the sums */
	double low_run, high_run; /* extremes */
};

struct burst_clusters {
	unsigned k;
	struct burst_cluster *clusters; /* 0..k */
	unsigned *labels;		/* by burst; UINT_MAX: not used */
	double *v;			/* n rows of dims raw features; NaN: not used */
	size_t n, used, subset;
	double unused_run; /* s */
	double eps;
	size_t min_pts;
	struct analysis_verdict verdict;
};

#define CLUSTER_UNUSED (~0u)

/* v of burst i, raw, by dimension. */
double burst_clusters__feature(const struct burst_columns *b, size_t i, enum burst_feature f);
/* The verdict is also returned. burst_clusters__free() in all cases. */
enum analysis_status burst_clusters__of(struct burst_clusters *c, const struct burst_columns *b,
					const struct cluster_request *q);
void burst_clusters__free(struct burst_clusters *c);

#endif
