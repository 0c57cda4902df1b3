/* SPDX-License-Identifier: GPL-2.0-only */
/* The report in the job file that it is about. */
#ifndef JP_CMD_JOBPROF_REPORT_STORE_H
#define JP_CMD_JOBPROF_REPORT_STORE_H

#include "view/report/report.h"

/* 0, or the exit status and it has said what is wrong. */
int report_store__write(const struct report *r, const char *path);

#endif
