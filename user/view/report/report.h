/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on a job: what slowed it down, where its time went, and how much of its allocation it
 * used. */
#ifndef JP_VIEW_REPORT_H
#define JP_VIEW_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/job/facts.h"
#include "analysis/job/io_job.h"
#include "analysis/job/pika_job.h"
#include "findings/findings.h"
#include "index/alike.h"
#include "model/job/job.h"

/* Results other than facts: docs/report-json.md has their schema. NULL: it was not asked for. */
struct report_besides {
	json_t *clusters, *fold;
	json_t *flame, *blocked; /* only for the page in a browser: stacks on a CPU, and off it */
};

struct report {
	const struct model_job *job;
	const struct model_job
		*drawn; /* the same units with shorter bins of what is drawn; NULL: job */
	const struct facts *facts;
	const struct verdict *verdict;
	const struct pika_job *pika;
	const struct io_jobs *io;
	const struct report_besides *besides; /* NULL: nothing */
	const struct alike *alike; /* what the index says of jobs like it; NULL: nothing */
	bool all; /* also prints what has no room on a screen, and why something is not known */
	bool utf8, colour;
	bool is_run;	      /* of `jobprof run`: without the foot */
	unsigned lines_after; /* lines that jobprof run prints below the page */
	const char *more;     /* of a run: the command or option that prints all */
	const char *name; /* name of what the page is about; NULL: the job's, or its program's */
	unsigned in_full; /* findings that have more than a line; 0: REPORT_IN_FULL */
};

#define REPORT_IN_FULL 3

/* Prints the page, 80 columns wide. Without `all` it has 40 lines, for jobprof run 30 with
 * lines_after, unless findings need more. */
void report__print(const struct report *r, FILE *out);
/* docs/report-json.md has the schema. NULL: no memory. */
json_t *report__json(const struct report *r);
/* All facts with their units, or the reason why they are not known. */
void report__print_facts(const struct facts *f, FILE *out);
/* Prints a rule's finding, or why it gave none. False: there is no such rule. */
bool report__print_why(const struct verdict *v, const char *rule, FILE *out);
/* Prints why PIKA's tag ("memory-bound") was given or not. False: there is no such tag. */
bool report__print_tag_why(const struct pika_job *p, const char *tag, FILE *out);

/* What the page in a browser draws: the units over time, thinned so that the page of any job stays
 * small. docs/report-json.md, "In the page", has the schema. NULL: no memory. */
json_t *report_series__json(const struct report *r);

/*
 * Reads and computes the results other than facts of a job's single file, each in a limited child.
 * Where there are several files, or a result cannot be read, its JSON says so. Stacks take longer,
 * because functions are looked up: they are read only with with_stacks. 0; -EINTR: a signal ended a
 * child, and should end this process too; -errno: no child could be started. report_besides__free()
 * in all cases.
 */
int report_besides__read(struct report_besides *out, const struct job_input *inputs, unsigned n,
			 bool with_stacks);
void report_besides__free(struct report_besides *b);

/* Called in a child: the result of that name in /analysis of the file, as stored__read() returns
 * it. NULL: there is none, or the input is one step of several, and the result may be of others. */
json_t *report_besides__stored(const struct job_input *input, const char *name, const char *but);

#endif
