/* SPDX-License-Identifier: GPL-2.0-only */
/* The report as one file for a browser. */
#ifndef JP_CMD_JOBPROF_REPORT_HTML_H
#define JP_CMD_JOBPROF_REPORT_HTML_H

#include "model/job/job.h"
#include "view/report/report.h"

/* Writes the page to path, "-" is standard output; over one of the inputs nothing is written. 0, or
 * 1 and it has said what is wrong; then nothing is left of the page, and what was at path is there.
 */
int report_html__write(const struct report *r, const char *path, const struct job_input *inputs,
		       unsigned n);

#endif
