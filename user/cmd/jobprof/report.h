/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on the files of a job, for the verbs that print one. */
#ifndef JP_CMD_JOBPROF_REPORT_H
#define JP_CMD_JOBPROF_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "findings/findings.h"
#include "model/job/job.h"
#include "pool/pool.h"
#include "view/report/report.h"

enum report_form { REPORT_PAGE, REPORT_JSON, REPORT_FACTS, REPORT_WHY, REPORT_STORE, REPORT_HTML };

struct report_opts {
	enum report_form form;
	bool all, is_run;
	unsigned lines_after; /* lines that jobprof run prints below the page */
	const char *more;     /* of jobprof run: the command that prints everything */
	const char *name;     /* NULL: the job's */
	const char *html;     /* where the page for a browser is written */
	bool force;	      /* PIKA's issues of any job, also of one that is not eligible */
	const char *why;      /* the id of the rule that REPORT_WHY explains */
	const char *rules;    /* the site's; NULL: the installed ones */
	const struct rules_text *text; /* the same as they were read; NULL: they are read */
	unsigned by;		       /* how sums over several jobs are grouped; 0: as usual */
	const struct alike *alike;     /* what the index says of jobs like it; NULL: nothing */
	bool here;		       /* the files are read by this process alone */
};

/* The ids of the built-in rules, with a space after each: for completion. */
void report__print_rules(FILE *out);

/* Called with a report. Returns 0, or the exit status. */
typedef int report_use(const struct report *r, void *ctx);

/* Reads and judges files of one job, in a limited child (pool/pool.h), which opens a file once.
 * Returns what `use` returns; 1, logged. */
int report__judge(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  report_use *use, void *ctx);

/* A question about a report: put() writes the answer, in the child, and take() reads it, in this
 * process. Both return 0 or an exit status. */
struct report_question {
	int (*put)(const struct report *r, struct message *m, void *ctx);
	int (*take)(struct message *m, void *ctx);
	void *ctx;
};

/* The same in a child of its own. */
int report__ask(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		const struct report_question *q);

/* Prints the report on files of one job. 0, or the exit status, logged. */
int report__files(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  FILE *out);

/* Prints the report on one file on standard error. Returns the same. */
int report__on_stderr(const char *path, const struct report_opts *o);

#endif
