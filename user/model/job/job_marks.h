/* SPDX-License-Identifier: GPL-2.0-only */
/* The marks of a job: instants that its programs named. */
#ifndef JP_MODEL_JOB_MARKS_H
#define JP_MODEL_JOB_MARKS_H

#include "hdf5/hdf5.h"
#include "model/job/job.h"
#include "pool/pool.h"

/* Puts the rows of the part's table Marks; a damaged one has none. 0 or -ENOMEM. */
int job_marks__put(const struct reader_node *n, struct cursor *c, const struct time_grid *g,
		   struct message *m);
/* Adds them to those of the job; the part's attributes have their names. 0; -EBADMSG; -ENOMEM. */
int job_marks__take(struct model_job *j, unsigned part, struct message *m);

#endif
