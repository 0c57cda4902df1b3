/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applications, which are the jobs of one signature: how long they run, whether that has changed,
 * and what would have been enough for them. */
#ifndef JP_INDEX_APPS_H
#define JP_INDEX_APPS_H

#include "index/query.h"

#define APP_RECENT 8  /* the last runs, which are compared with those before */
#define APP_BEFORE 5  /* of which so many are needed */
#define APP_POINTS 60 /* last runs that are reported one by one */

struct app_run {
	double start, elapsed_s;
	int64_t job;
};

/* The texts and numbers of the last job, and sums over all jobs; runs are those that completed, or
 * whose end is unknown. Valid during the call. NaN: unknown. */
struct app {
	const char *signature, *user, *account, *name, *program;
	double nodes, cores, gpus, limit_s, mem_asked_mb, last;
	unsigned jobs, completed;
	double held_core_s, lost_core_s;
	double lost_of_core_s; /* what jobs with a profile held */
	double peak_mb;	       /* the highest of all jobs, without page cache where that is known */
	double median_s;       /* of the runs before the recent ones */
	double recent_s;       /* median of the recent ones */
	double p95_s;	       /* 95 % of the runs took no longer */
	bool has_changed;      /* by more than 5 %, and 3 median absolute deviations of before */
	const char *why;       /* the state that explains most of a change; NULL: unknown */
	double why_s;	       /* how much longer the runs were in it */
	int64_t before_job, recent_job; /* that took about the median, with a profile; 0: none */
	const struct app_run *points;	/* the last runs, the oldest first */
	unsigned npoints;
};

typedef int apps_take(void *arg, const struct app *a);
/* Calls take with each application of the jobs that the filter selects and the viewer may see, in
 * the order of signatures. 0, -errno, or what take returned. */
int apps__each(struct index *ix, const struct job_filter *f, const struct viewer *v,
	       apps_take *take, void *arg);

#endif
