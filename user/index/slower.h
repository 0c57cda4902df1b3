/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds applications that are slower than their earlier runs, and nodes slower than other nodes. */
#ifndef JP_INDEX_SLOWER_H
#define JP_INDEX_SLOWER_H

#include "index/query.h"

#define SLOWER_RUNS	 5    /* of an application; with fewer there is no median */
#define SLOWER_NODE_RUNS 15   /* of a node */
#define SLOWER_LEAST	 0.05 /* longer by this share, at least */
#define SLOWER_MADS	 3    /* and by so many median absolute deviations of the earlier runs */

/* Jobs of one signature that completed. The texts are there during the call. */
struct slower_app {
	const char *signature, *user, *account, *name; /* of several the last one by its bytes */
	unsigned runs, runs_before;
	double median_s, before_s;
	double more_core_s; /* the runs' held core-seconds x (1 - before_s / median_s); NaN */
};

typedef int slower_take_app(void *arg, const struct slower_app *a);
/* Takes the applications that the viewer may see, the dearest first: the runs in the time of the
 * filter are compared with those in the time of `before`, of which only the times are used. Both
 * times have a begin. 0, -errno, or what take returned. */
int slower__apps(struct index *ix, const struct job_filter *f, const struct job_filter *before,
		 const struct viewer *v, slower_take_app *take, void *arg);

#define SLOWER_FAILS 2 /* jobs by NODE_FAIL: one may be another node's of the job */

/* A node on which runs took longer than the median of their signature on all nodes, which is named
 * by findings about slow nodes, or on which SLOWER_FAILS jobs failed. A job counts for each of its
 * nodes. */
struct slower_node {
	const char *node, *cluster;
	unsigned runs;	 /* of signatures with SLOWER_RUNS that completed */
	double took;	 /* median of their times by the signature's; NaN: too few runs */
	unsigned failed; /* jobs that ended by NODE_FAIL */
	unsigned found;	 /* findings that name it */
};

typedef int slower_take_node(void *arg, const struct slower_node *n);
/* Takes all nodes, the slowest first, then those with most failed jobs and findings together; none
 * for a viewer who does not see all. 0, -errno, or what take returned. */
int slower__nodes(struct index *ix, const struct job_filter *f, const struct viewer *v,
		  slower_take_node *take, void *arg);

#endif
