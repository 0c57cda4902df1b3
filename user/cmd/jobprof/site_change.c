/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says what to change in jobs that are alike, and in how many of them that is safe. */
#include "cmd/jobprof/site_change.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "findings/findings.h"
#include "index/contact.h"
#include "view/report/report_text.h"

#define HIDDEN(key, kind)                           \
	{                                           \
		key, "", NULL, kind, SITE_HIDDEN, 0 \
	}

const struct site_column site_change__columns[] = {
	{"user", "user", NULL, CELL_TEXT, 0, 12},
	{"name", "job name", NULL, CELL_TEXT, 0, 18},
	HIDDEN("program", CELL_TEXT),
	HIDDEN("signature", CELL_TEXT),
	{"nodes", "nodes", NULL, CELL_COUNT, 6, 0},
	HIDDEN("tasks", CELL_COUNT),
	HIDDEN("rule", CELL_TEXT),
	HIDDEN("severity", CELL_TEXT),
	{"jobs", "jobs", NULL, CELL_COUNT, 2, 0},
	HIDDEN("of", CELL_COUNT),
	{"cost_core_s", "cost core-h", NULL, CELL_HOURS, 0, 0},
	HIDDEN("last", CELL_TIME),
	HIDDEN("unit", CELL_TEXT),
	HIDDEN("asked_least", CELL_NUMBER),
	HIDDEN("asked_most", CELL_NUMBER),
	HIDDEN("used", CELL_NUMBER),
	HIDDEN("needs", CELL_NUMBER),
	HIDDEN("safe", CELL_COUNT),
	HIDDEN("safe_of", CELL_COUNT),
	HIDDEN("remedy_kind", CELL_TEXT),
	HIDDEN("remedy_code", CELL_TEXT),
	HIDDEN("text", CELL_TEXT),
	{"account", "project", NULL, CELL_TEXT, 4, 12},
	{"job", "dearest", NULL, CELL_TEXT, 0, 0},
	HIDDEN("cost_money", CELL_NUMBER),
	{"contacted_at", "contacted", NULL, CELL_TIME, 1, 0},
	{"contacted_by", "by", NULL, CELL_TEXT, 5, 10},
	{"ticket", "ticket", NULL, CELL_TEXT, 3, 10},
	HIDDEN("lost_before_core_s_week", CELL_HOURS),
	HIDDEN("lost_after_core_s_week", CELL_HOURS),
	HIDDEN("runs_after", CELL_COUNT),
	HIDDEN("weeks", CELL_SERIES),
	{"verdict", "since then", NULL, CELL_TEXT, 2, 0},
};
const unsigned site_change__ncolumns = sizeof(site_change__columns) / sizeof(*site_change__columns);
#define N_COLUMNS (sizeof(site_change__columns) / sizeof(*site_change__columns))

enum { ACCOUNT = 22, JOB, MONEY, AT, BY, TICKET, BEFORE, AFTER, RUNS, WEEKS, VERDICT };

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

/* Sets the columns of the last contact. 0 or -errno. */
static int set_contact(struct db_value *row, char weeks[static SITE_SERIES], struct index *ix,
		       const struct viewer *v, const struct many *m, struct string_list *texts)
{
	const struct contact like = {.user = m->user, .rule = m->rule, .signature = m->signature};
	struct contact c;
	struct advice a;
	int err = contact__last(&c, &a, ix, v, &like, texts);

	if (err)
		return err == -ENOENT ? 0 : err;
	row[AT] = db_value__int((int64_t)c.at);
	row[BY] = db_value__text(c.who);
	row[TICKET] = db_value__text(c.ticket);
	row[BEFORE] = db_value__real(a.lost_before);
	row[AFTER] = db_value__real(a.lost_after);
	row[RUNS] = db_value__int((int64_t)a.runs_after);
	row[WEEKS] = db_value__text(site_series__text(weeks, a.week_lost, CONTACT_WEEKS));
	row[VERDICT] = db_value__text(a.verdict);
	return 0;
}

/* Sets the columns that are from the findings. */
static void set_row(struct db_value *to, const struct site_args *a, const struct many *m,
		    const char *text)
{
	const struct db_value row[N_COLUMNS] = {
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
		[ACCOUNT] = db_value__text(m->account),
		db_value__text(*m->dearest ? m->dearest : NULL),
		db_value__real(site_args__money(a, m->cost_core_s, NAN)),
	};

	memcpy(to, row, sizeof(row));
}

int site_change__add(struct site_table *t, struct index *ix, const struct viewer *v,
		     const struct site_args *a, const struct many *m)
{
	char *text = sentence(m), weeks[SITE_SERIES];
	struct string_list texts = {0};
	struct db_value row[N_COLUMNS];
	int err = -ENOMEM;

	set_row(row, a, m, text);
	if (text)
		err = set_contact(row, weeks, ix, v, m, &texts);
	if (!err)
		err = site_table__add(t, row);
	free(text);
	string_list__free(&texts);
	return err;
}

int site_change__print(const struct many *m)
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
