/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a report share: parts of a whole, the parts of the page, and of the JSON. */
#ifndef JP_VIEW_REPORT_PAGE_H
#define JP_VIEW_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/job/facts_fill.h"
#include "analysis/job/io_job.h"
#include "analysis/job/pika_job.h"
#include "model/job/job.h"
#include "view/report/report.h"

/* ---- amounts of time or samples of the job and its units that are divided into named parts
 */

#define REPORT_PARTS_MAX 17

#define REPORT_SAMPLES_LEAST 100 /* with fewer samples, shares are chance */

struct report_part {
	enum quantity of;
	const char *kind, *name; /* kind NULL: the parts are of one kind */
};

struct report_parts {
	const char *rows_key; /* key in page.rows of docs/report-json.md: "thread_shares" */
	const char *all_key;  /* key of the whole, in the report's JSON */
	const struct report_part *parts;
	unsigned n;
	const char *first_alone; /* the first part's name where the second is not known; NULL: its
				    own */
	enum quantity whole;	 /* N_QUANTITIES: the sum of the parts */
	/* Corrects shares that do not only depend on their own quantity, where the whole is known;
	 * NULL: there are none. */
	void (*correct)(const double total[static N_QUANTITIES],
			double share[static REPORT_PARTS_MAX]);
};

extern const struct report_parts report_threads, report_culprits, report_modules;

/* Divides the totals of a unit. Returns the whole; NaN: it is not known, or nothing. A share that
 * is not known is NaN. */
double report_parts__divide(const struct report_parts *p, const double total[static N_QUANTITIES],
			    double share[static REPORT_PARTS_MAX]);
/* Divides the totals of the job, as report_parts__divide() divides those of a unit. */
double report_parts__of(const struct report_parts *p, const struct model_job *j,
			double share[static REPORT_PARTS_MAX]);
/* {all_key: the whole, "shares": [{"kind", "name", "share"} ...]}; without a whole there are no
 * shares. */
json_t *report_parts__json(const struct report_parts *p, const struct model_job *j);

/* ---- the parts of the page: each prints an empty line (not the head), its heading and its lines,
 * or nothing */

void report_head__print(const struct report *r, FILE *out);
/* "core", or "CPU" where it may be a thread of one. */
const char *report_head__core(const struct report *r);
/* Of what counts were lost at a restart with other programs: "all", or families. NULL: of nothing,
 * or that is not known. */
const char *report_head__lost_what(const struct report *r);
void report_findings__print(const struct report *r, FILE *out);
void report_budget__print(const struct report *r, FILE *out);
void report_alike__print(const struct report *r, FILE *out); /* goes on without a heading */
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
	double core_s;		/* the time of which the shares are parts; NaN: not known */
	double share[N_BUDGET]; /* NaN: not known; that part is in "idle" then */
};
/* Seconds. Where one is NaN, its share is not known; where cpu or core_s is NaN, no share is known.
 */
struct budget_times {
	double cpu, user, system, core_s;
	struct idle_split idle;
};
struct report_budget report_budget__of_times(const struct budget_times *t);
struct report_budget report_budget__of(const struct report *r);
/* The name of a share: "own code"; a wider word where the share contains others that are not known.
 */
const char *report_budget__name(const struct report_budget *b, enum budget i);

/* ---- parts of the JSON (docs/report-json.md); NULL: no memory */

json_t *report_pika__json(const struct pika_job *p);
json_t *report_io__json(const struct io_jobs *io);
json_t *report_culprits__json(const struct model_job *j);
json_t *report_modules__json(const struct report *r);
json_t *report_pop__json(const struct facts *f);
json_t *report_alike__json(const struct alike *a);

/* Mean use of the GPUs, 0 to 1; NaN: not known. */
double report_given__gpu_use(const struct facts *f);

#endif
