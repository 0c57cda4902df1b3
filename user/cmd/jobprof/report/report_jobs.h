/* SPDX-License-Identifier: GPL-2.0-only */
/* The report on files of several jobs. */
#ifndef JP_CMD_JOBPROF_REPORT_JOBS_H
#define JP_CMD_JOBPROF_REPORT_JOBS_H

#include "base/options.h"
#include "cmd/jobprof/report/report.h"

/* Whether the names of the files say so. */
bool report_jobs__are_several(const struct job_input *inputs, unsigned n);
/* A table with a line per job: node-step files of one job are together, as their names have them,
 * any other file is a job. 0; 1: a file could not be read, which has been said. */
int report_jobs__files(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		       FILE *out);
/* For an option: a list of words into the bits `by` of report_opts. 0, or 2 and it has said what is
 * wrong. */
int report_jobs__parse_by(void *by, const struct opt *o, const char *list);

#endif
