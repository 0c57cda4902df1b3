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
	{"who", "by", NULL, CELL_TEXT, 2, 10},
	{"ticket", "ticket", NULL, CELL_TEXT, 1, 12},
	{"user", "user", NULL, CELL_TEXT, 0, 10},
	{"account", "project", NULL, CELL_TEXT, 7, 12},
	{"rule", "finding", NULL, CELL_TEXT, 0, 22},
	{"signature", "signature", NULL, CELL_HIDDEN, 0, 0},
	{"job", "job", NULL, CELL_HIDDEN, 0, 0},
	{"lost_before_core_s_week", "before core-h/week", NULL, CELL_HOURS, 4, 0},
	{"lost_after_core_s_week", "after", NULL, CELL_HOURS, 5, 0},
	{"expected_core_s_week", "expected", NULL, CELL_HIDDEN, 0, 0},
	{"saved_core_s_week", "saved", NULL, CELL_HOURS, 3, 0},
	{"runs_before", "runs before", NULL, CELL_HIDDEN, 0, 0},
	{"runs_after", "runs since", NULL, CELL_COUNT, 6, 0},
	{"weeks_before", "weeks before", NULL, CELL_HIDDEN, 0, 0},
	{"weeks_after", "weeks", NULL, CELL_NUMBER, 8, 0},
	{"verdict", "verdict", NULL, CELL_TEXT, 0, 0},
	{"text", "what was said", NULL, CELL_TEXT, 9, 40},
};

struct adding {
	struct site_table *t;
	struct advice_sum sum;
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
		db_value__real(a->weeks_before),
		db_value__real(a->weeks_after),
		db_value__text(a->verdict),
		db_value__text(c->text),
	};

	contact__add_up(&w->sum, a);
	return site_table__add(w->t, row);
}

/* "helped 2 of 6, which saved 5,641 core-h a week; all 6 together: -17,368" */
static void print_saved(const struct advice_sum *s)
{
	char saved[SITE_CELL], all[SITE_CELL];

	site_cell__put(saved, CELL_HOURS, s->saved);
	site_cell__put(all, CELL_HOURS, s->saved_by_all);
	printf("\nhelped %u of %u", s->helped, s->n);
	if (s->helped)
		printf(", which saved %s core-h a week", saved);
	if (s->n == 1 && s->known > s->helped)
		printf(": %s core-h a week", all);
	else if (s->known > s->helped)
		printf("; all %u%s together: %s%s", s->known,
		       s->known < s->n ? " of which it is known" : "", all,
		       s->helped ? "" : " core-h a week");
	putchar('\n');
}

static json_t *saved_json(const struct advice_sum *s)
{
	json_t *o = json_object();

	json__set(o, "contacts", json_integer(s->n));
	json__set(o, "helped", json_integer(s->helped));
	JSON_NUMBERS(o, {"saved_core_s_week", s->saved},
		     {"saved_by_all_core_s_week", s->known ? s->saved_by_all : NAN});
	return o;
}

static int print_contacts(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	struct site_table t = {.columns = columns, .ncolumns = sizeof(columns) / sizeof(*columns)};
	struct adding w = {.t = &t};
	const bool is_text = !a->json && !a->csv;
	int status = contact__each(ix, a->filter.since, v, add_advice, &w) ? 1 : 0;

	if (!status && (t.nrows || !is_text))
		status = site_args__print(a, &t, saved_json(&w.sum));
	if (!status && is_text && t.nrows)
		print_saved(&w.sum);
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
	{"nodes", "", NULL, CELL_COUNT, 0, 0},	     {"tasks", "", NULL, CELL_COUNT, 0, 0},
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
	bool has_heading;
	char signature[64]; /* whose heading was printed last */
};

static const char *noun(const struct many *m, double n)
{
	return m->are_tasks ? n == 1 ? "task" : "tasks" : n == 1 ? "job" : "jobs";
}

/* "1.2 GiB", "2:10:00", "3 cores" */
static const char *amount(const struct many *m, double v, report_number buf)
{
	report_number count;

	if (!strcmp(m->unit, "MiB"))
		return report_text__mb(v, buf);
	if (!strcmp(m->unit, "s"))
		return report_text__time(v, buf);
	snprintf(count, sizeof(count), "%.3g", v);
	snprintf(buf, REPORT_NUMBER, "%.20s %.20s%s",
		 v < 999.5 ? count : report_text__count(v, count), m->unit, report_text__s(v));
	return buf;
}

/* Whether the numbers of all jobs are known. */
static bool has_numbers(const struct many *m)
{
	return m->unit && !isnan(m->needs) && !isnan(m->used) && !isnan(m->asked_most);
}

/* "asked 16 to 64 GiB, used at most 1.2 GiB"; else what the job says of itself that counts for all.
 */
static void put_evidence(FILE *out, const struct many *m)
{
	report_number least, most, used;

	if (!has_numbers(m)) {
		fputs(m->text, out);
		return;
	}
	amount(m, m->asked_most, most);
	fprintf(out, "asked %s%s%s, used at most %s",
		m->asked_least < m->asked_most ? amount(m, m->asked_least, least) : "",
		m->asked_least < m->asked_most ? " to " : "", most, amount(m, m->used, used));
}

static bool is_sentence(const char *text)
{
	const size_t n = strlen(text);

	return n && strchr(".!?:", text[n - 1]);
}

/* What joins the evidence with what follows: another sentence, or a part of this one. */
static const char *stop(const struct many *m, bool follows_sentence)
{
	if (!has_numbers(m) && is_sentence(m->text))
		return " ";
	return follows_sentence ? ". " : "; ";
}

/* Fewer than 9 of 10 of the jobs would have had enough: it is no advice. */
static bool is_unsafe(const struct many *m)
{
	return m->safe_of > 0 && 10 * m->safe < 9 * m->safe_of;
}

/* Whether there is a line to copy. */
static bool has_line(const struct many *m)
{
	return *m->code && !is_unsafe(m);
}

/* What the code would have been for the jobs. */
static void put_safety(FILE *out, const struct many *m, const char *code)
{
	const char *jobs = noun(m, m->safe_of);
	report_number safe, of;

	report_text__count(m->safe_of, of);
	if (is_unsafe(m) && m->safe > 0)
		fprintf(out, "%s would have been safe in only %s of %s %s", m->code,
			report_text__count(m->safe, safe), of, jobs);
	else if (is_unsafe(m))
		fprintf(out, "%s would not have been safe in any of %s %s", m->code, of, jobs);
	else if (m->safe_of > 0)
		fprintf(out, "%s would have been safe in %s of %s %s", code,
			report_text__count(m->safe, safe), of, jobs);
	else
		fprintf(out, "no %s shows whether %s would be enough", noun(m, 1), code);
}

/* Of a line that sets a number how safe that is, else the remedy. The code may come apart. */
static void put_remedy(FILE *out, const struct many *m, bool is_apart)
{
	const size_t len = strlen(m->remedy), end = is_apart ? strlen(m->code) : 0;

	if (!isnan(m->safe_of) && *m->code) {
		fputs(stop(m, false), out);
		put_safety(out, m, is_apart ? "this" : m->code);
	} else if (len > end) {
		fprintf(out, "%s%.*s", stop(m, true), (int)(len - end), m->remedy);
	}
}

/* "70 of 72 jobs: asked 16 GiB, used at most 1.2 GiB; LINE would have been safe in 70 of 72 jobs".
 * NULL: no memory. */
static char *sentence(const struct many *m)
{
	report_number jobs, of;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "%s of %s %s: ", report_text__count(m->jobs, jobs),
		report_text__count(m->of, of), noun(m, m->of));
	put_evidence(f, m);
	put_remedy(f, m, false);
	return fclose(f) ? NULL : text;
}

/* For a reader, who finds the code below. NULL: no memory. */
static char *words(const struct many *m)
{
	report_number jobs, of, cost;
	char *text = NULL, last[SITE_CELL];
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	site_cell__put(last, CELL_TIME, m->last);
	fprintf(f, "%s of %s %s, last %s", report_text__count(m->jobs, jobs),
		report_text__count(m->of, of), noun(m, m->of), last);
	if (m->cost_core_s > 0)
		fprintf(f, ", costs %s", report_text__cores(m->cost_core_s, cost));
	fputs(": ", f);
	put_evidence(f, m);
	put_remedy(f, m, true);
	if (has_line(m) && !isnan(m->safe_of))
		putc(':', f);
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
	return remedy_kind__name(is_unsafe(m)	? REMEDY_SENTENCE
				 : m->kind == 2 ? REMEDY_COMMAND
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
		db_value__real(m->nodes),
		db_value__real(m->tasks),
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
		db_value__text(has_line(m) ? m->code : NULL),
		db_value__text(text),
	};
	int err = text ? site_table__add(t, row) : -1;

	free(text);
	return err;
}

/* ", 4 nodes" */
static void print_size(double n, const char *noun)
{
	char count[SITE_CELL];

	site_cell__put(count, CELL_COUNT, n);
	if (n > 0)
		printf(", %s %s%s", count, noun, report_text__s(n));
}

/* One for all findings of a signature. Jobs of one name may differ in size. */
static void print_heading(struct changes *w, const struct many *m)
{
	if (w->has_heading && !strcmp(w->signature, m->signature))
		return;
	snprintf(w->signature, sizeof(w->signature), "%s", m->signature);
	if (w->has_heading)
		putchar('\n');
	w->has_heading = true;
	print__utf8(stdout, *m->name ? m->name : *m->program ? m->program : "?");
	fputs(" of ", stdout);
	print__utf8(stdout, m->user);
	print_size(m->nodes, "node");
	print_size(m->tasks, "task");
	putchar('\n');
}

static int print_change(const struct many *m)
{
	char *text = words(m);
	int at;

	if (!text)
		return -1;
	printf("  %-4s ", severity(m));
	print__utf8(stdout, m->rule);
	fputs(": ", stdout);
	at = 9 + (int)strlen(m->rule);
	report_text__paragraph(stdout, text, at < 60 ? at : 60, 7);
	if (has_line(m)) {
		fputs("           ", stdout);
		print__utf8(stdout, m->code);
		putchar('\n');
	}
	free(text);
	return 0;
}

static int take_change(void *arg, const struct many *m)
{
	struct changes *w = arg;

	w->jobs += m->jobs;
	if (!w->is_text)
		return add_change(&w->t, m);
	print_heading(w, m);
	return print_change(m);
}

/* Of the jobs asked for, what no advice can be about. */
static void print_without_profile(double share)
{
	if (share > 0)
		putchar('\n');
	site_filter__print_unknown(share, "to change there");
}

static json_t *without_profile_json(double share)
{
	json_t *o = json_object();

	JSON_NUMBERS(o, {"without_profile", share});
	return o;
}

static int print_changes(struct index *ix, const struct site_args *a, const struct viewer *v)
{
	double share;
	struct changes w = {
		.t = {.columns = change_columns,
		      .ncolumns = sizeof(change_columns) / sizeof(*change_columns)},
		.is_text = !a->json && !a->csv,
	};
	int status = many__each(ix, &a->filter, v, a->all ? 0 : GROUPS, take_change, &w) ? 1 : 0;

	if (!status)
		status = many__without_profile(ix, &a->filter, v, NULL, &share) ? 1 : 0;
	if (!status && !w.is_text)
		status = site_args__print(a, &w.t, without_profile_json(share));
	else if (!status && !(w.jobs > 0))
		puts("no such job has a finding");
	if (!status && w.is_text)
		print_without_profile(share);
	if (!status && !(w.jobs > 0))
		site_filter__hint(a, ix, v);
	site_table__free(&w.t);
	return status;
}

/* ---- the verb */

/* Whether it names jobs, by more than their time. */
static bool names_jobs(const struct job_filter *f)
{
	return f->cluster || f->user || f->account || f->partition || !isnan(f->until) ||
	       job_filter__is_of_rows(f);
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
	if (of_jobs && o.site.since_word == all && !o.site.is_since_given)
		site_args__parse_when(&o.site.filter.since, "since", CHANGE_DAYS);
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	status = of_jobs ? print_changes(&ix, &o.site, &viewer)
			 : print_contacts(&ix, &o.site, &viewer);
	index__close(&ix);
	return status;
}
