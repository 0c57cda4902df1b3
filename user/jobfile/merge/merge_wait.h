/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until all node-step files of a job are in place. */
#ifndef JP_JOBFILE_MERGE_WAIT_H
#define JP_JOBFILE_MERGE_WAIT_H

#include "jobfile/merge/merge.h"

/*
 * Looks at the names in the user's directory repeatedly, for at most so many seconds. A step is in
 * place when none of its files is still being written (begins with a dot, or is open) and there are
 * as many as its attribute "Nodes in Step" says, which is read once; a step without the attribute
 * is taken as it is. The job is in place when every step is, and the names have not changed for a
 * few seconds, because the files of a further step may be on their way. Specs must be of
 * JOBSPEC_JOB.
 *
 * An existing opts->output of an earlier run of the job (by "Restart Count") is moved to
 * NAME.restart<N>.h5 first, never over anything.
 *
 * 0: in place; 1: there is nothing to merge, but opts->output exists: the job is merged;
 * -ETIME: something is missing (logged); -errno: the directory cannot be looked at (logged).
 */
int merge_wait__run(const struct merge_opts *opts, unsigned seconds);

#endif
