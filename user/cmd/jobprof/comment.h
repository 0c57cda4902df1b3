/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the text of jobstats to Slurm's AdminComment of jobs, from a queue in the index. */
#ifndef JP_CMD_JOBPROF_COMMENT_H
#define JP_CMD_JOBPROF_COMMENT_H

#include "cmd/jobprof/site_args.h"

struct comment_options {
	struct site_args site;
	int rate;	/* jobs a minute */
	double wait_s;	/* for one of Slurm's commands */
	double since_s; /* jobs that ended earlier get no comment */
};
#define COMMENT_RATE	30
#define COMMENT_WAIT_S	30
#define COMMENT_SINCE_S (7 * 86400.0)

struct comment_result {
	unsigned written, foreign, failed, waiting;
};

/* Queues the jobs that have ended and have a profile, and comments those that are due, by sacct and
 * sacctmgr as PATH has them. What fails is tried again after 1, 2, 4 ... minutes, 12 times. 0;
 * -ETIME: Slurm's accounting hangs, and -EOPNOTSUPP: it changes comments; the rest waits; -errno.
 * All are logged. */
int comment__turn(struct index *ix, const struct comment_options *o, struct comment_result *res);

#endif
