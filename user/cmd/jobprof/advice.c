/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof advice: whether it helped to write to users; of some jobs, what to change in all of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/verbs.h"
#include "findings/findings.h"
#include "index/contact.h"
#include "index/many.h"
#include "view/report/report_text.h"

struct options {
	struct site_args site;
};

static const struct opt opts[] = {
	OPTS_FILTER(struct options),
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_advice = {
	.name = "jobprof advice",
	.usage = "[OPTION]...",
	.about =
		"Of jobs that options name: what to change in all that are alike, and in how many\n"
		"of them that would have been safe. Without: whether contacts helped, by what\n"
		"the jobs in question lost a week in the 6 weeks before and in up to 8 weeks\n"
		"after, at equal core time, so that running less is no success.",
	.opts = opts,
};

/* ---- whether contacts helped */

static const struct site_column columns[] = {
	{"at", "contacted", NULL, CELL_TIME, 0, 0},
	{"who", "by", NULL, CELL_TEXT, 5, 10},
	{"ticket", "ticket", NULL, CELL_TEXT, 4, 12},
	{"user", "user", NULL, CELL_TEXT, 0, 10},
	{"account", "project", NULL, CELL_TEXT, 6, 12},
	{"rule", "finding", NULL, CELL_TEXT, 0, 22},
	{"signature", "signature", NULL, CELL_HIDDEN, 0, 0},
	{"job", "job", NULL, CELL_HIDDEN, 0, 0},
	{"lost_before_core_s_week", "before core-h/week", NULL, CELL_HOURS, 1, 0},
	{"lost_after_core_s_week", "after", NULL, CELL_HOURS, 1, 0},
	{"expected_core_s_week", "expected", NULL, CELL_HIDDEN, 0, 0},
	{"saved_core_s_week", "saved", NULL, CELL_HOURS, 0, 0},
	{"runs_before", "runs before", NULL, CELL_HIDDEN, 0, 0},
	{"runs_after", "runs since", NULL, CELL_COUNT, 3, 0},
	{"weeks_after", "weeks", NULL, CELL_NUMBER, 7, 0},
	{"verdict", "", NULL, CELL_TEXT, 0, 0},
};

struct adding {
	struct site_table *t;
	double helped, saved;
};

static int add_advice(void *arg, const struct contact *c, const struct advice *a)
{
	struct adding *w = arg;
	const struct db_value row[] = {
		db_value__int((int64_t)c->at),
		db_value__text(c->who),
		db_value__text(c->ticket),
		db_value__text(c->user),
		db_value__text(c->account),
		db_value__text(c->rule),
		db_value__text(c->signature),
		c->job ? db_value__int(c->job) : (struct db_value){0},
		db_value__real(a->lost_before),
		db_value__real(a->lost_after),
		db_value__real(a->expected),
		db_value__real(a->saved),
		db_value__int((int64_t)a->runs_before),
		db_value__int((int64_t)a->runs_after),
		db_value__real(a->weeks_after),
		db_value__text(a->verdict),
	};

	w->helped += a->has_helped;
	if (a->has_helped)
		w->saved += a->saved;
	return site_table__add(w->t, row);
}

static int print_contacts(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	struct site_table t = {.columns = columns, .ncolumns = sizeof(columns) / sizeof(*columns)};
	struct adding w = {.t = &t};
	const bool is_text = !a->json && !a->csv;
	int status = contact__each(ix, a->filter.since, v, add_advice, &w) ? 1 : 0;

	if (!status && (t.nrows || !is_text))
		status = site_args__print(
			a, &t,
			json_pack("{s:f, s:f}", "helped", w.helped, "saved_core_s_week", w.saved));
	if (!status && is_text && t.nrows)
		printf("\nhelped %.0f of %u: %.4g core-h a week\n", w.helped, t.nrows,
		       w.saved / 3600);
	else if (!status && is_text)
		puts("no contact is noted: jobprof contacted JOB --ticket T notes one");
	site_table__free(&t);
	return status;
}

/* ---- what to change in jobs that are alike */

#define GROUPS	    10 /* without --all */
#define CHANGE_DAYS "30d"

static const struct site_column change_columns[] = {
	{"user", "", NULL, CELL_TEXT, 0, 0},	     {"name", "", NULL, CELL_TEXT, 0, 0},
	{"program", "", NULL, CELL_TEXT, 0, 0},	     {"signature", "", NULL, CELL_TEXT, 0, 0},
	{"rule", "", NULL, CELL_TEXT, 0, 0},	     {"severity", "", NULL, CELL_TEXT, 0, 0},
	{"jobs", "", NULL, CELL_COUNT, 0, 0},	     {"of", "", NULL, CELL_COUNT, 0, 0},
	{"cost_core_s", "", NULL, CELL_HOURS, 0, 0}, {"last", "", NULL, CELL_TIME, 0, 0},
	{"unit", "", NULL, CELL_TEXT, 0, 0},	     {"asked_least", "", NULL, CELL_NUMBER, 0, 0},
	{"asked_most", "", NULL, CELL_NUMBER, 0, 0}, {"used", "", NULL, CELL_NUMBER, 0, 0},
	{"needs", "", NULL, CELL_NUMBER, 0, 0},	     {"safe", "", NULL, CELL_COUNT, 0, 0},
	{"safe_of", "", NULL, CELL_COUNT, 0, 0},     {"remedy_kind", "", NULL, CELL_TEXT, 0, 0},
	{"remedy_code", "", NULL, CELL_TEXT, 0, 0},  {"text", "", NULL, CELL_TEXT, 0, 0},
};

struct changes {
	struct site_table t;
	bool is_text;
	double jobs; /* with findings, each finding for itself */
};

static const char *noun(const struct many *m, double n)
{
	return m->are_tasks ? n == 1 ? "task" : "tasks" : n == 1 ? "job" : "jobs";
}

/* "1.2 GiB", "2:10:00", "3 cores" */
static const char *amount(const struct many *m, double v, report_number buf)
{
	if (!strcmp(m->unit, "MiB"))
		return report_text__mb(v, buf);
	if (!strcmp(m->unit, "s"))
		return report_text__time(v, buf);
	snprintf(buf, REPORT_NUMBER, "%.3g %.20s%s", v, m->unit, report_text__s(v));
	return buf;
}

/* "asked 16 to 64 GiB, used at most 1.2 GiB"; else what the job says of itself that counts for all.
 */
static void put_evidence(FILE *out, const struct many *m)
{
	report_number least, most, used;

	if (!m->unit || isnan(m->needs) || isnan(m->used) || isnan(m->asked_most)) {
		fputs(m->text, out);
		return;
	}
	amount(m, m->asked_most, most);
	fprintf(out, "asked %s%s%s, used at most %s",
		m->asked_least < m->asked_most ? amount(m, m->asked_least, least) : "",
		m->asked_least < m->asked_most ? " to " : "", most, amount(m, m->used, used));
}

/* "70 of 72 jobs: asked 16 GiB, used at most 1.2 GiB", and how many had had enough with the code.
 */
static void put_sentence(FILE *out, const struct many *m, const char *code)
{
	fprintf(out, "%.0f of %.0f %s: ", m->jobs, m->of, noun(m, m->of));
	put_evidence(out, m);
	if (m->safe_of > 0)
		fprintf(out, "%s %s would have been safe in %.0f of %.0f %s",
			isnan(m->used) ? "" : ";", code, m->safe, m->safe_of, noun(m, m->safe_of));
}

/* All of it in one. NULL: no memory. */
static char *sentence(const struct many *m)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	put_sentence(f, m, m->code);
	if (!(m->safe_of > 0) && *m->remedy)
		fprintf(f, " %s", m->remedy);
	return fclose(f) ? NULL : text;
}

/* For a reader, who finds the code below. NULL: no memory. */
static char *words(const struct many *m)
{
	const size_t len = strlen(m->remedy), code = strlen(m->code);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	put_sentence(f, m, "this");
	if (m->safe_of > 0)
		putc(':', f);
	else if (len > code)
		fprintf(f, " %.*s", (int)(len - code), m->remedy);
	return fclose(f) ? NULL : text;
}

static const char *severity(const struct many *m)
{
	return severity__name(m->severity == 2	 ? SEVERITY_BAD
			      : m->severity == 1 ? SEVERITY_WARN
						 : SEVERITY_NOTE);
}

static const char *kind(const struct many *m)
{
	return remedy_kind__name(m->kind == 2	? REMEDY_COMMAND
				 : m->kind == 1 ? REMEDY_LINE
						: REMEDY_SENTENCE);
}

static int add_change(struct site_table *t, const struct many *m)
{
	char *text = sentence(m);
	const struct db_value row[] = {
		db_value__text(m->user),
		db_value__text(m->name),
		db_value__text(m->program),
		db_value__text(m->signature),
		db_value__text(m->rule),
		db_value__text(severity(m)),
		db_value__int((int64_t)m->jobs),
		db_value__int((int64_t)m->of),
		db_value__real(m->cost_core_s),
		db_value__real(m->last),
		db_value__text(m->unit),
		db_value__real(m->asked_least),
		db_value__real(m->asked_most),
		db_value__real(m->used),
		db_value__real(m->needs),
		db_value__real(m->safe),
		db_value__real(m->safe_of),
		db_value__text(kind(m)),
		db_value__text(*m->code ? m->code : NULL),
		db_value__text(text),
	};
	int err = text ? site_table__add(t, row) : -1;

	free(text);
	return err;
}

static int print_change(const struct many *m)
{
	char *text = words(m), head[SITE_CELL];
	int at;

	if (!text)
		return -1;
	putchar('\n');
	print__escaped(stdout, *m->name ? m->name : *m->program ? m->program : "?");
	fputs(" of ", stdout);
	print__escaped(stdout, m->user);
	site_cell__put(head, CELL_TIME, m->last);
	printf(", last %s", head);
	if (m->cost_core_s > 0)
		printf(", costs %s", report_text__cores(m->cost_core_s, (report_number){0}));
	printf("\n  %-4s ", severity(m));
	print__escaped(stdout, m->rule);
	fputs(": ", stdout);
	at = 9 + (int)strlen(m->rule);
	report_text__paragraph(stdout, text, at < 60 ? at : 60, 7);
	if (*m->code) {
		fputs("           ", stdout);
		print__escaped(stdout, m->code);
		putchar('\n');
	}
	free(text);
	return 0;
}

static int take_change(void *arg, const struct many *m)
{
	struct changes *w = arg;

	w->jobs += m->jobs;
	return w->is_text ? print_change(m) : add_change(&w->t, m);
}

static int print_changes(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	struct changes w = {
		.t = {.columns = change_columns,
		      .ncolumns = sizeof(change_columns) / sizeof(*change_columns)},
		.is_text = !a->json && !a->csv,
	};
	int status = many__each(ix, &a->filter, v, a->all ? 0 : GROUPS, take_change, &w) ? 1 : 0;

	if (!status && !w.is_text)
		status = site_args__print(a, &w.t, json_object());
	else if (!status && !(w.jobs > 0))
		puts("no such job has a finding");
	site_table__free(&w.t);
	return status;
}

/* ---- the verb */

/* Whether it names jobs, by more than their time. */
static bool names_jobs(const struct job_filter *f)
{
	return f->cluster || f->user || f->account || f->partition || f->state || f->name ||
	       f->signature || f->node || f->finding || f->tag || f->jobs || !isnan(f->until) ||
	       !isnan(f->least_nodes) || !isnan(f->most_nodes) || !isnan(f->least_s) ||
	       !isnan(f->most_s);
}

int verb_advice(int argc, char **argv)
{
	static const char all[] = "all";
	struct options o = {0};
	struct viewer viewer;
	struct index ix;
	bool of_jobs;
	int status;

	site_args__init(&o.site, all);
	status = options__read(&cmd_advice, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_advice, "\"%s\": it takes options alone", argv[optind]);
	of_jobs = names_jobs(&o.site.filter);
	if (of_jobs && o.site.since_word == all && !o.site.filter.jobs)
		site_args__parse_when(&o.site.filter.since, "since", CHANGE_DAYS);
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	status = of_jobs ? print_changes(&ix, &o.site, &viewer)
			 : print_contacts(&ix, &o.site, &viewer);
	index__close(&ix);
	return status;
}
