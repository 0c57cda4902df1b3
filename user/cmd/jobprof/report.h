/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on files, for the verbs that print one. */
#ifndef JP_CMD_JOBPROF_REPORT_H
#define JP_CMD_JOBPROF_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/job/job.h"
#include "pool/pool.h"
#include "view/report/report.h"

enum report_form { REPORT_PAGE, REPORT_JSON, REPORT_FACTS, REPORT_WHY, REPORT_STORE, REPORT_HTML };

struct report_opts {
	enum report_form form;
	bool all, is_run;
	unsigned lines_after;	   /* that a run prints below the page */
	const char *more;	   /* of a run: what prints all */
	const char *name;	   /* NULL: the job's */
	const char *html;	   /* where the page for a browser is written */
	bool force;		   /* issues of PIKA of any job */
	const char *why;	   /* a rule's id */
	const char *rules;	   /* the site's; NULL: the installed ones */
	unsigned by;		   /* what sums of several jobs are about; 0: the usual */
	const struct alike *alike; /* what the index says of jobs like it; NULL: nothing */
};

/* The ids of the built-in rules, with a space after each: for completion. */
void report__print_rules(FILE *out);

/* What is done with a report. 0, or the exit status. */
typedef int report_use(const struct report *r, void *ctx);

/* In a limited child (pool/pool.h), which opens a file once: reads and judges files of one job.
 * What the use returns; 1, and it has said what is wrong. */
int report__judge(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  report_use *use, void *ctx);

/* What is asked of a report, in the child, and what becomes of the answer, in this process. Both
 * return 0 or an exit status. */
struct report_question {
	int (*put)(const struct report *r, struct message *m, void *ctx);
	int (*take)(struct message *m, void *ctx);
	void *ctx;
};

/* The same in a child of its own. */
int report__ask(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		const struct report_question *q);

/* The report on files of one job. 0, or the exit status and it has said what is wrong. */
int report__files(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  FILE *out);

/* The report on one file, on standard error. The same. */
int report__on_stderr(const char *path, const struct report_opts *o);

#endif
