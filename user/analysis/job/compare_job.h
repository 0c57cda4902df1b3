/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The critical path of a job, in numbers that analysis/compare/compare.h compares. In each bin the
 * path follows the task that was busy the longest: CPU time, waits for a CPU and waits for a disk
 * count. Where a task uses several CPUs at the same time, their common second is one second of the
 * path.
 */
#ifndef JP_ANALYSIS_COMPARE_JOB_H
#define JP_ANALYSIS_COMPARE_JOB_H

#include "analysis/compare/compare.h"
#include "model/job/job.h"

/* How all the runs that are compared are measured. */
struct compare_how {
	bool wait, disk, causes; /* these are known of all runs */
	double busy_share; /* CPUs that are typically busy, divided by cores: the highest of all
			      runs */
};

/* A run, for people. */
struct compared_job {
	char *id, *step, *program; /* "": not known; step "": it has several */
	double start_s;		   /* Unix time; NaN: not known */
	unsigned nodes, tasks;
	char *wait_node, *disk_node;   /* where the path waited the longest; NULL: it did not */
	double wait_share, disk_share; /* that node's part of the waiting */
	/* The node whose CPUs are slower than those of the others, by their median; NULL: none. */
	struct compare_slow {
		char *node;
		double ratio;
	} clock, ipc;
	struct compare_run run;
};

/* Why a job cannot be compared with any; NULL: it can. */
const char *compare_job__refuse(const struct model_job *j);
/* n jobs, whose bins are equally long. */
struct compare_how compare_job__how(const struct model_job *const *jobs, unsigned n);
/* 0 or -ENOMEM; compared_job__free() in both cases. */
int compare_job__of(struct compared_job *out, const struct model_job *j,
		    const struct compare_how *how);
void compared_job__free(struct compared_job *c);

#endif
