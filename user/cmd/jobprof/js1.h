/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of jobstats about a job, for the verb and for the queue of comments. */
#ifndef JP_CMD_JOBPROF_JS1_H
#define JP_CMD_JOBPROF_JS1_H

#include "cmd/jobprof/site_job.h"

/* "JS1:..." from its profile, else from its row; the caller frees it. NULL: no memory. */
char *js1__of_job(const struct site_job *j, const struct site_args *a);

#endif
