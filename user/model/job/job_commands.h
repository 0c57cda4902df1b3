/* SPDX-License-Identifier: GPL-2.0-only */
/* What a job used under each program's name. */
#ifndef JP_MODEL_JOB_COMMANDS_H
#define JP_MODEL_JOB_COMMANDS_H

#include "hdf5/hdf5.h"
#include "model/job/job.h"
#include "pool/pool.h"

/* Puts the sums of the part's tables in Commands. 0; -EBADMSG; -ENOMEM. */
int job_commands__put(const struct reader_node *n, struct cursor *c, struct message *m);
/* Adds them to those of the job. 0; -EBADMSG; -ENOMEM. */
int job_commands__take(struct model_job *j, struct message *m);

#endif
