/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobprof report --store puts into a job file, and the page that is read from there. */
#ifndef JP_CMD_JOBPROF_REPORT_STORE_H
#define JP_CMD_JOBPROF_REPORT_STORE_H

#include <jansson.h>
#include <time.h>

#include "cmd/jobprof/report.h"

/* Puts what is stored, in a child; the page is released. 0 or 1. */
int report_store__put(const struct report *r, json_t *page, struct message *m);
/* Stores that in a file which had this modification time when it was read. 0 or 1, logged. */
int report_store__take(struct message *m, const struct report_opts *o, const struct job_input *in,
		       const struct timespec *read_at);

/* The page that is stored in the file, which opts->alike is put into. Called in a child, before it
 * opens a file; opts->text is set. NULL: there is none, or it would be another one now. */
json_t *report_store__page(const struct job_input *inputs, unsigned n, const struct report_opts *o);

#endif
