/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of several jobs: a row per job, and PIKA's sums over jobs that have something in common.
 */
#ifndef JP_VIEW_REPORT_JOBS_H
#define JP_VIEW_REPORT_JOBS_H

#include "pool/message.h"
#include "view/report/report.h"

struct report_job {
	json_t *json; /* the row; docs/report-json.md has its keys */
	struct issue_job issues;
	struct project_job size;
};

/* What jobs have in common: bits 1 << enum; 0: nothing, all are one group. */
enum report_by {
	REPORT_BY_USER,
	REPORT_BY_ACCOUNT,
	REPORT_BY_NAME,
	REPORT_BY_PARTITION,
	REPORT_BYS
};
extern const char *const report_by_names[REPORT_BYS]; /* "user", which is a key of a row */

struct report_jobs {
	struct report_job *v;
	size_t n;
	unsigned by;
};

/* Send the row of a job from the process that judges it to the one that has the table. file: the
 * job's file, or the first of several; id: the job's id, where the file does not have it. put: 0,
 * or 1: no memory; take: 0, -EBADMSG or -ENOMEM. */
int report_jobs__put(const struct report *r, struct message *m);
int report_jobs__take(struct report_jobs *jobs, struct message *m, const char *file,
		      const char *id);
/* Orders jobs by their cost, the highest first, then by their use. */
void report_jobs__sort(struct report_jobs *jobs);
void report_jobs__free(struct report_jobs *jobs);

/* docs/report-json.md has the schema. NULL: no memory. */
json_t *report_jobs__json(const struct report_jobs *jobs);
/* Prints the result of report_jobs__json() as a page, 80 columns wide; with `all` also PIKA's
 * issues. */
void report_jobs__print(const json_t *jobs, bool all, FILE *out);

#endif
