/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became slower: applications against their earlier runs, nodes against other nodes. */
#ifndef JP_INDEX_SLOWER_H
#define JP_INDEX_SLOWER_H

#include "index/query.h"

#define SLOWER_RUNS	 5    /* of an application; fewer have no median */
#define SLOWER_NODE_RUNS 15   /* of a node */
#define SLOWER_LEAST	 0.05 /* slower is longer by at least this share */
#define SLOWER_MADS	 3    /* and by so many median absolute deviations of earlier runs */

/* Jobs of one signature that completed. The texts are valid during the call. */
struct slower_app {
	const char *signature, *user, *account, *name; /* if several, the last in byte order */
	unsigned runs, runs_before;
	double median_s, before_s;
	double more_core_s; /* the runs' held_core_s x (1 - before_s / median_s); NaN: unknown */
};

typedef int slower_take_app(void *arg, const struct slower_app *a);
/* Calls take with each application that the viewer may see, the dearest first. Runs since f->since
 * are compared with those from before->since to f->since; what else `before` has is not used. Both
 * times have a begin. 0, -errno, or what take returned. */
int slower__apps(struct index *ix, const struct job_filter *f, const struct job_filter *before,
		 const struct viewer *v, slower_take_app *take, void *arg);

/* Whether a finding's place, as "n1-n3,n7 and 2 more", includes the node. */
bool slower__names_node(const char *place, const char *node);

#define SLOWER_FAILS 2 /* jobs by NODE_FAIL: one may have failed by another of its nodes */

/* A node on which runs took longer than the median of their signature on all nodes, which findings
 * about slow nodes name, or on which SLOWER_FAILS jobs failed. A job counts for each of its
 * nodes. */
struct slower_node {
	const char *node, *cluster;
	unsigned runs;	 /* that completed, of signatures with SLOWER_RUNS or more */
	double took;	 /* median of run time / median of its signature; NaN: too few runs */
	unsigned failed; /* jobs that ended with NODE_FAIL */
	unsigned found;	 /* findings that name the node */
};

typedef int slower_take_node(void *arg, const struct slower_node *n);
/* Calls take with each node, the slowest first, then those with most failed jobs and findings
 * together; with none if the viewer may not see all. Returns as slower__apps(). */
int slower__nodes(struct index *ix, const struct job_filter *f, const struct viewer *v,
		  slower_take_node *take, void *arg);

#define SLOWER_Z     3.5 /* a slow node is so many deviations below the median of its kind */
#define SLOWER_ALIKE 5	 /* nodes of a kind that have a deviation */

/* A node on which runs completed of signatures that have SLOWER_RUNS or more. */
struct slower_speed {
	const char *node, *cluster;
	unsigned kind; /* equal for nodes of one cluster, size and model */
	unsigned runs;
	double speed;	    /* median of: median of the signature / run time; NaN: too few runs */
	double usual;	    /* median speed of the nodes of its kind; NaN: not known */
	double spread;	    /* their 1.4826 x median absolute deviation, at least 0.005 */
	double z;	    /* (speed - usual) / spread; NaN: fewer than SLOWER_ALIKE nodes */
	bool is_slow;	    /* by SLOWER_LEAST, and by SLOWER_Z where z is known */
	double since;	    /* of a slow one: begin of the first of the runs that were slow; NaN */
	double lost_core_s; /* of a slow one: by which these runs were longer, on all their nodes */
};

typedef int slower_take_speed(void *arg, const struct slower_speed *s);
/* Calls take with each node, kind by kind, the slowest of a kind first; with none if the viewer may
 * not see all. Returns as slower__apps(). */
int slower__speeds(struct index *ix, const struct job_filter *f, const struct viewer *v,
		   slower_take_speed *take, void *arg);

#endif
