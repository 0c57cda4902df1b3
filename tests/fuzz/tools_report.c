/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the report on one fuzzed file. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/facts_fill.h"
#include "tests/fuzz/tools.h"
#include "view/report/report_jobs.h"
#include "view/report/report.h"

/* As a row of the table of several jobs. */
static void print_row(const struct report *r, FILE *out)
{
	struct report_jobs jobs = {.by = 1u << REPORT_BY_USER};
	struct message m = {0};
	json_t *json;

	if (!report_jobs__put(r, &m) && !report_jobs__put(r, &m) &&
	    !report_jobs__take(&jobs, &m, "file", "1") &&
	    !report_jobs__take(&jobs, &m, "file", "2")) {
		report_jobs__sort(&jobs);
		json = report_jobs__json(&jobs);
		report_jobs__print(json, true, out);
		json_decref(json);
	}
	message__free(&m);
	report_jobs__free(&jobs);
}

static void print(const struct report *r)
{
	json_t *json = report__json(r), *series = report_series__json(r);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	free(json ? json_dumps(json, JSON_COMPACT) : NULL);
	free(series ? json_dumps(series, JSON_COMPACT) : NULL);
	json_decref(series);
	json_decref(json);
	if (!out)
		return;
	report__print(r, out);
	report__print_facts(r->facts, out);
	print_row(r, out);
	fclose(out);
	free(text);
}

static void judge(const struct model_job *j)
{
	static const struct rules_options rules = {.site = ""};
	struct verdict verdict = {0};
	static const struct pika_options how = {.force = true};
	struct facts facts;
	struct pika_job pika = {0};
	struct io_jobs io;
	const struct report r = {.job = j,
				 .facts = &facts,
				 .verdict = &verdict,
				 .pika = &pika,
				 .io = &io,
				 .all = true};

	if (!facts__of(&facts, j) && !rules__judge(&verdict, &facts, &rules) &&
	    !pika_job__of(&pika, j, &facts, &how) && !io_jobs__of(&io, j, &facts))
		print(&r);
	pika_job__free(&pika);
	verdict__free(&verdict);
	facts__free(&facts);
}

void tools__report(const char *path)
{
	const struct job_input in = {.path = path};
	const struct job_options how = {.here = true};
	struct model_job job;

	if (!model_job__read(&job, &in, 1, &how)) {
		judge(&job);
		tools__compare(&job);
	}
	model_job__free(&job);
}
