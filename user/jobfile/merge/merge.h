/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges the node-step files of a job into one job file. */
#ifndef JP_JOBFILE_MERGE_H
#define JP_JOBFILE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/jobspec.h"

struct merge_opts {
	const char *profile_dir; /* the directory that has the users' directories */
	const char *user;	 /* the user, whose directory is used */
	bool or_none; /* where there is no such directory: uses files of profile_dir itself */
	const struct jobspec *specs; /* jobs and steps */
	unsigned nspecs;
	const char *output; /* NULL: ./job_<id>.h5; with several jobs it must be NULL */
	int64_t job_start;  /* unix time: selects among jobs of one id; 0: there must be only one */
	bool raw;	    /* a job's id does not also stand for an array */
	bool caller_logs_none; /* the caller logs it where there is no file at all */
	bool keep;	       /* node-step files are not deleted */
	unsigned threads;      /* processes, of which one writes; 0: by CPUs and files */
};

struct merge_report {
	unsigned outputs; /* job files that were written, or had everything already */
	unsigned nodes;	  /* copied into them */
	unsigned known;	  /* nodes that were in them already, unchanged */
	unsigned refused; /* files named and left alone: damaged, foreign, running, or of other
			     content */
	unsigned deleted;
};

/*
 * Merges every <job>_<step>_<node>.h5 that opts select: those of the user's directory and, into
 * files of their own, those of its directories restart<N>. Everything noteworthy is logged as it
 * happens. The job file is written under a temporary name, synced, compared with its inputs and
 * renamed; only then are the node-step files deleted. With keep, and where no job file exists,
 * nothing can be lost, and it is not compared. Job file and tree: see jobprof-merge(1).
 *
 * 0: all that was asked for is done; 1: some of it is not (logged); -EINVAL: opts contradict each
 * other (logged); -ENOENT: there is nothing to merge (logged). st may be NULL.
 */
int merge__run(const struct merge_opts *o, struct merge_report *st);

#endif
