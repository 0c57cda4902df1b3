/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the page of a report. Each prints its heading, or nothing; but for the head, an
 * empty line comes first. */
#ifndef JP_VIEW_REPORT_PAGE_H
#define JP_VIEW_REPORT_PAGE_H

#include "analysis/job/facts_fill.h"
#include "view/report/report.h"

void report_head__print(const struct report *r, FILE *out);
/* "core", or "CPU" where it may be a thread of one. */
const char *report_head__core(const struct report *r);
void report_findings__print(const struct report *r, FILE *out);
void report_budget__print(const struct report *r, FILE *out);
void report_threads__print(const struct report *r, FILE *out);
void report_culprits__print(const struct report *r, FILE *out);
void report_modules__print(const struct report *r, FILE *out);
void report_pop__print(const struct report *r, FILE *out);
void report_given__print(const struct report *r, FILE *out);
void report_time__print(const struct report *r, FILE *out);
void report_clusters__print(const struct report *r, FILE *out);
void report_pika__print(const struct report *r, FILE *out); /* with `all` only */
void report_io__print(const struct report *r, FILE *out);   /* likewise */

/*
 * Where the time of the allocated cores went, in shares that add up to 1. Where the job used more
 * CPU time than it has core time, as on both threads of cores, the shares are of the CPU time.
 */
enum budget {
	BUDGET_USER,
	BUDGET_KERNEL,
	BUDGET_OTHERS,
	BUDGET_QUOTA,
	BUDGET_WAIT,
	BUDGET_DISK,
	BUDGET_ASLEEP,
	BUDGET_IDLE,
	N_BUDGET
};

struct report_budget {
	double core_s;		/* of which the shares are; NaN: not known */
	double share[N_BUDGET]; /* NaN: not known; "idle" has that part then */
};
/* Seconds; NaN: not known, so that the share is not; of cpu and core_s, so that no share is. */
struct budget_times {
	double cpu, user, system, core_s;
	struct idle_split idle;
};
struct report_budget report_budget__of_times(const struct budget_times *t);
struct report_budget report_budget__of(const struct report *r);
/* "own code"; of shares that hold others which are not known, a wider word. */
const char *report_budget__name(const struct report_budget *b, enum budget i);

/* Parts of the JSON: docs/report-json.md. */
json_t *report_culprits__json(const struct model_job *j);
json_t *report_modules__json(const struct report *r);
json_t *report_pop__json(const struct facts *f);

/* Mean use of the GPUs, 0 to 1; NaN: not known. */
double report_given__gpu_use(const struct facts *f);

#endif
