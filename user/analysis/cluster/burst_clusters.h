/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From bursts to clusters: features, a subset, DBSCAN on it, the labels of all other bursts, the
 * table of clusters. */
#ifndef JP_ANALYSIS_BURST_CLUSTERS_H
#define JP_ANALYSIS_BURST_CLUSTERS_H

#include "analysis/cluster/burst_model.h"
#include "analysis/reduce.h"

struct burst_row;
struct model_bursts;

struct cluster_request {
	enum burst_feature by[CLUSTER_MAX_DIMS];
	unsigned dims;
	double eps;	/* 0: by the distances of near points */
	size_t min_pts; /* 0: CLUSTER_MIN_PTS, or CLUSTER_FEW_MIN_PTS of few bursts */
	bool whole;	/* all bursts are clustered, however many */
};

/* How bursts are compared by default. */
#define CLUSTER_REQUEST ((struct cluster_request){.by = {FEATURE_RUN, FEATURE_GAP}, .dims = 2})

/* One burst; s. NaN: not known. */
struct burst_times {
	double run, wall, on_cpu, gap;
};

/* Plain columns of n bursts; s. */
struct burst_columns {
	const double *run, *wall, *on_cpu, *gap;
	const unsigned *thread;
	size_t n;
	unsigned nthreads;
	/* Where these are a part of all bursts: the extremes of run, gap and wall over all of them,
	 * in the order of enum burst_feature. NULL: these are all bursts. */
	const double *least, *most;
};
struct burst_columns burst_columns__of(const struct model_bursts *b);

/* What adds up over the bursts of a cluster. */
struct burst_sums {
	struct moments run;
	double on_cpu, wall;
};
void burst_sums__add(struct burst_sums *s, const struct burst_times *b);

/* A line of the table: cluster 0 is noise. */
struct burst_cluster {
	size_t n;
	double share;	     /* part of the run time of all bursts that were used */
	double run, spread;  /* median, and standard deviation over mean */
	double gap;	     /* median of those that are known */
	double on_cpu, used; /* sum of on_cpu over sum of wall, sum of run over sum of on_cpu */
	double low_run, high_run; /* extremes */
};

struct burst_clusters {
	unsigned k;
	struct burst_cluster *clusters; /* 0..k */
	unsigned *labels;		/* by burst; CLUSTER_UNUSED: not used */
	double *v;			/* n rows of dims raw features; NaN: not used */
	size_t n, used, unused;
	struct burst_model model;
	struct analysis_verdict verdict;
};

/* Returns the verdict. Call burst_clusters__free() in all cases. */
enum analysis_status burst_clusters__of(struct burst_clusters *c, const struct burst_columns *b,
					const struct cluster_request *q);
/* The same for a file, where the sums in the table are over all its bursts. 0; -ENOMEM, or as
 * model_bursts__each(). */
int burst_clusters__of_file(struct burst_clusters *c, const struct model_bursts *b,
			    const struct cluster_request *q);
/* Calls fn with every burst, in the order of the file, and its cluster; CLUSTER_UNUSED: in none. 0,
 * or as model_bursts__each(). */
int burst_clusters__each(const struct burst_clusters *c, const struct model_bursts *b,
			 void (*fn)(void *arg, const struct burst_row *row, unsigned label),
			 void *arg);
void burst_clusters__free(struct burst_clusters *c);

/* ---- for what stands in the place of clusters, as code and regions do */

/* Makes c->clusters of n bursts at[], whose labels are given. */
enum analysis_status burst_clusters__tabulate(struct burst_clusters *c,
					      const struct burst_columns *b, const size_t *at,
					      const unsigned *labels, size_t n);
/* Replaces the sums in the table by sums[0..k], which are over more bursts; medians stay. */
void burst_clusters__settle(struct burst_clusters *c, const struct burst_sums *sums);

#endif
