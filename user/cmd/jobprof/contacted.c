/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof contacted: support has written to a user. jobprof advice: whether that helped. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/verbs.h"
#include "index/contact.h"

/* ---- contacted */

struct options {
	struct site_args site;
	const char *ticket, *rule, *text;
};

static const struct opt opts[] = {
	{'t', "ticket", "TEXT", "the number of the ticket", OPT_TEXT(struct options, ticket)},
	{0, "finding", "RULE", "what it was about (of a JOB: its dearest finding)",
	 OPT_TEXT(struct options, rule)},
	{'m', "text", "TEXT", "what was said", OPT_TEXT(struct options, text)},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_contacted = {
	.name = "jobprof contacted",
	.usage = "JOB|USER|SIGNATURE [OPTION]...",
	.about = "Notes in the index that support has written to a user, because of a job, of all\n"
		 "jobs like it (their signature, which jobs --json has) or of all of the user's.",
	.opts = opts,
};

static bool is_signature(const char *word)
{
	return strlen(word) == 16 && strspn(word, "0123456789abcdef") == 16;
}

/* What the index knows of the word: a job, or the last one of a signature. 0; -ENOENT; -errno. */
static int find_job(struct index *ix, const char *word, struct contact *c,
		    struct string_list *texts)
{
	uint32_t job = 0;
	const bool by_id = !parse_u32(word, &job);
	const struct db_value arg = by_id ? db_value__int(job) : db_value__text(word);
	struct db_rows r;
	bool found = false;
	int err = db__ask(&r, ix->db,
			  by_id ? "SELECT \"user\", account, signature, worst_rule FROM job "
				  "WHERE job_id = ? ORDER BY start DESC LIMIT 1"
				: "SELECT \"user\", account, signature, '' FROM job "
				  "WHERE signature = ? ORDER BY start DESC LIMIT 1",
			  &arg, 1);

	if (!err && db_rows__next(&r)) {
		const char **to[] = {&c->user, &c->account, &c->signature, &c->rule};

		found = true;
		for (int i = 0; !err && i < 4; i++) {
			if (r.v[i].type != DB_TEXT || !*r.v[i].text || *to[i])
				continue;
			err = string_list__append(texts, r.v[i].text);
			if (!err)
				*to[i] = texts->v[texts->n - 1];
		}
		c->job = job;
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	return err || found ? err : -ENOENT;
}

static int note_contact(struct index *ix, const struct options *o, const char *word)
{
	struct string_list texts = {0};
	char *who = NULL;
	struct contact c = {
		.at = (double)time(NULL), .rule = o->rule, .ticket = o->ticket, .text = o->text};
	uint32_t job;
	int err = 0;

	user_name__of_uid(getuid(), &who);
	c.who = who ? who : "?";
	if (!parse_u32(word, &job) || is_signature(word))
		err = find_job(ix, word, &c, &texts);
	else
		c.user = word;
	if (err == -ENOENT)
		log_error("%s: the index has no such job", word);
	if (!err)
		err = contact__add(ix, &c);
	if (!err)
		printf("noted: %s contacted %s%s%s%s%s\n", c.who, c.user ? c.user : "?",
		       c.rule ? " about " : "", c.rule ? c.rule : "", c.ticket ? ", ticket " : "",
		       c.ticket ? c.ticket : "");
	string_list__free(&texts);
	free(who);
	return err;
}

int verb_contacted(int argc, char **argv)
{
	struct options o = {0};
	struct index ix;
	char *where;
	bool is_own;
	int status, err;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_contacted, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (argc - optind != 1)
		return options__wrong(&cmd_contacted, "one JOB, USER or SIGNATURE");
	where = site_args__where(&o.site, &is_own);
	if (!where)
		return 1;
	err = index__open(&ix, where, DB_WRITE);
	if (!err) {
		err = note_contact(&ix, &o, argv[optind]);
		index__close(&ix);
	}
	free(where);
	return err ? 1 : 0;
}

/* ---- advice */

static const struct opt advice_opts[] = {
	{'S', "since", "TIME", "contacts since then: 7d, 6m, 2026-11-01, all (the default)",
	 OPT_CALL_AT(site_args__take_since, struct options, site)},
	OPTS_DATABASE(struct options),
	OPTS_FORM(struct options),
	{0},
};

const struct command cmd_advice = {
	.name = "jobprof advice",
	.usage = "[OPTION]...",
	.about = "Whether contacts helped: what the jobs in question lost a week in the 6 weeks\n"
		 "before and in up to 8 weeks after, at equal core time, so that running less is\n"
		 "no success.",
	.opts = advice_opts,
};

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

int verb_advice(int argc, char **argv)
{
	struct site_table t = {.columns = columns, .ncolumns = sizeof(columns) / sizeof(*columns)};
	struct adding w = {.t = &t};
	struct options o = {0};
	struct viewer viewer;
	struct index ix;
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_advice, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		return options__wrong(&cmd_advice, "\"%s\": it takes options alone", argv[optind]);
	status = site_args__open(&o.site, &ix, &viewer);
	if (status)
		return status;
	status = contact__each(&ix, o.site.filter.since, &viewer, add_advice, &w) ? 1 : 0;
	if (!status && (t.nrows || o.site.json || o.site.csv))
		status = site_args__print(
			&o.site, &t,
			json_pack("{s:f, s:f}", "helped", w.helped, "saved_core_s_week", w.saved));
	if (!status && !o.site.json && !o.site.csv && t.nrows)
		printf("\nhelped %.0f of %u: %.4g core-h a week\n", w.helped, t.nrows,
		       w.saved / 3600);
	else if (!status && !t.nrows && !o.site.json && !o.site.csv)
		puts("no contact is noted: jobprof contacted JOB --ticket T notes one");
	site_table__free(&t);
	index__close(&ix);
	return status;
}
