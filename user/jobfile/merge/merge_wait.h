/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting until all of a job's node-step files are in place. */
#ifndef JP_JOBFILE_MERGE_WAIT_H
#define JP_JOBFILE_MERGE_WAIT_H

#include "jobfile/merge/merge.h"

/*
 * Looks at the names in the user's directory now and then, for at most that many seconds. A step is
 * in place when none of its files is still being written (begins with a dot, or is held open) and
 * there are as many as its attribute "Nodes in Step" says, which is read once; a step that does not
 * say is taken as it is. All is in place when every step is and the names have not changed for a
 * few seconds: the files of one more step may be on their way. Specs must be of JOBSPEC_JOB.
 *
 * An existing opts->output of an earlier run of the job (by "Restart Count") is moved to
 * NAME.restart<N>.h5 first, never over anything.
 *
 * 0: in place; 1: there is nothing to merge, but opts->output exists: the job is merged;
 * -ETIME: something is missing (logged); -errno: the directory cannot be looked at (logged).
 */
int merge_wait__run(const struct merge_opts *opts, unsigned seconds);

#endif
