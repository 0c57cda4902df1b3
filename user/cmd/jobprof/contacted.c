/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof contacted: notes in the index that support has written to a user. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "cmd/jobprof/site_job.h"
#include "cmd/jobprof/site_viewer.h"
#include "cmd/jobprof/site_when.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/verbs.h"
#include "findings/findings.h"
#include "index/contact.h"

struct options {
	struct site_args site;
	const char *ticket, *rule, *text, *at_word;
	bool remove;
};

static const struct opt opts[] = {
	{'t', "ticket", "TEXT", "the number of the ticket", OPT_TEXT(struct options, ticket)},
	{0, "finding", "RULE", "what it was about (of a JOB: its dearest finding)",
	 OPT_TEXT(struct options, rule)},
	{'m', "text", "TEXT", "what was said", OPT_TEXT(struct options, text)},
	{0, "at", "TIME", "when that was: 2026-11-01, 2026-11-01T08:00, 24h, 2d; default: now",
	 OPT_TEXT(struct options, at_word)},
	{0, "remove", NULL, "takes the last such contact away, and says which",
	 OPT_FLAG(struct options, remove)},
	{'M', "cluster", "NAME", "the job of this cluster",
	 OPT_TEXT(struct options, site.filter.cluster)},
	OPTS_DATABASE(struct options),
	{0},
};

const struct command cmd_contacted = {
	.name = "jobprof contacted",
	.usage = "JOB|USER|SIGNATURE [OPTION]...",
	.about =
		"Notes in the index that support has written to a user, because of a job (7, 7_2,\n"
		"7+1 or a SLUID), of all jobs like it (their signature, which jobs --json has) or\n"
		"of all of the user's.",
	.opts = opts,
};

/* ---- the job, user or signature that the word names */

static bool is_signature(const char *word)
{
	return strlen(word) == 16 && strspn(word, "0123456789abcdef") == 16;
}

/* Sets a text that is not set yet, where there is one: a copy, in texts. 0 or -ENOMEM. */
static int set_unset(const char **to, struct string_list *texts, const char *text)
{
	int err = text && *text && !*to ? string_list__append(texts, text) : 0;

	if (!err && text && *text && !*to)
		*to = texts->v[texts->n - 1];
	return err;
}

/* Fills c from the job's last run. 0; -ENOENT: there is no such job in the index; -errno. */
static int find_job(struct index *ix, const struct options *o, const char *word, struct contact *c,
		    struct string_list *texts)
{
	static const struct viewer everybody = {.sees_all = true};
	struct row_list rows = {0};
	struct jobspec *spec = NULL;
	char why[128];
	unsigned n = 0;
	int err = jobspec__parse(&spec, &n, word, why, sizeof(why));

	err = err == -EINVAL || (!err && n != 1) ? -ENOENT : err;
	if (!err)
		err = index__find(ix, spec, o->site.filter.cluster, &everybody, &rows);
	if (!err && !rows.n)
		err = -ENOENT;
	if (!err)
		err = site_job__check_user(&rows, false, word);
	if (!err) {
		char **text = rows.v[0].text;

		c->job = (int64_t)rows.v[0].number[INDEX_job_id];
		/* the note has the name from before prune replaced it */
		if (!o->remove || !text[INDEX_user] || *text[INDEX_user] != '~')
			err = set_unset(&c->user, texts, text[INDEX_user]);
		err = err ? err : set_unset(&c->account, texts, text[INDEX_account]);
		err = err ? err : set_unset(&c->signature, texts, text[INDEX_signature]);
		/* the note to remove may be about another finding */
		if (!err && !o->remove)
			err = set_unset(&c->rule, texts, text[INDEX_worst_rule]);
	}
	row_list__free(&rows);
	free(spec);
	return err;
}

/* Fills c from the last job with this signature. 0; -ENOENT; -errno. */
static int find_signature(struct index *ix, const char *word, struct contact *c,
			  struct string_list *texts)
{
	const struct db_value arg = db_value__text(word);
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT \"user\", account FROM job WHERE signature = ? "
			  "ORDER BY start DESC LIMIT 1",
			  &arg, 1);

	if (!err && !db_rows__next(&r))
		err = r.err ? r.err : -ENOENT;
	else if (!err)
		err = set_unset(&c->user, texts, r.v[0].type == DB_TEXT ? r.v[0].text : NULL);
	if (!err)
		err = set_unset(&c->account, texts, r.v[1].type == DB_TEXT ? r.v[1].text : NULL);
	c->signature = word;
	return db_rows__end(&r, err);
}

static int find_user(struct index *ix, const char *word, struct contact *c)
{
	const struct db_value arg = db_value__text(word);
	int err = 0;
	const double one =
		db__number(ix->db, &err, "SELECT 1 FROM job WHERE \"user\" = ? LIMIT 1", &arg, 1);

	c->user = word;
	return err ? err : isnan(one) ? -ENOENT : 0;
}

/* A word that is no known job is tried as a user, whose name may consist of digits. */
static int find(struct index *ix, const struct options *o, const char *word, struct contact *c,
		struct string_list *texts)
{
	int err = is_signature(word) ? find_signature(ix, word, c, texts)
				     : find_job(ix, o, word, c, texts);

	return err == -ENOENT && !is_signature(word) ? find_user(ix, word, c) : err;
}

/* ---- the finding */

struct rule_ids {
	const char *wanted;
	struct string_list ids;
	bool is_there;
};

static int take_rule(void *arg, const struct rule_many *m)
{
	struct rule_ids *r = arg;

	r->is_there |= !strcmp(m->id, r->wanted);
	return string_list__append(&r->ids, m->id);
}

/* Another machine may have rules of its own: what the index has is known, too. 0; -ENOENT, logged;
 * -errno. */
static int check_rule(struct index *ix, const char *rule)
{
	struct rule_ids r = {.wanted = rule};
	const struct db_value arg = db_value__text(rule);
	int err = rules__each_many(take_rule, &r);

	if (!err && !r.is_there)
		r.is_there =
			db__number(ix->db, &err, "SELECT 1 FROM finding WHERE rule = ? LIMIT 1",
				   &arg, 1) > 0;
	if (!err && !r.is_there) {
		const char *near = str__nearest(rule, (const char *const *)r.ids.v, r.ids.n);

		log_error("--finding %s: there is no such rule%s%s%s", rule,
			  near ? "; did you mean " : ": jobprof-rules(5) names them",
			  near ? near : "", near ? "?" : "");
		err = -ENOENT;
	}
	string_list__free(&r.ids);
	return err;
}

/* ---- the verb */

static void print_contact(const char *done, const struct contact *c)
{
	char at[SITE_CELL];

	site_cell__put(at, CELL_TIME, c->at);
	printf("%s: %s, ", done, at);
	print__utf8(stdout, c->who ? c->who : "?");
	fputs(" contacted ", stdout);
	print__utf8(stdout, c->user ? c->user : "?");
	if (c->job)
		printf(" because of job %lld", (long long)c->job);
	else if (c->signature)
		printf(" because of jobs of signature %s", c->signature);
	if (c->rule) {
		fputs(" about ", stdout);
		print__utf8(stdout, c->rule);
	}
	if (c->ticket) {
		fputs(", ticket ", stdout);
		print__utf8(stdout, c->ticket);
	}
	putchar('\n');
}

/* Staff runs this by sudo, as the index's owner. */
static const char *sudo_user(void)
{
	const char *sudo = getenv("SUDO_USER");

	return sudo && *sudo ? sudo : NULL;
}

static int note(struct index *ix, const struct options *o, const char *word, struct contact *c,
		struct string_list *texts)
{
	char *who = NULL;
	int err = o->rule ? check_rule(ix, o->rule) : 0;

	if (err)
		return err;
	err = find(ix, o, word, c, texts);
	if (err == -ENOENT)
		log_error("%s: the index has no job, user or signature of that name", word);
	if (err)
		return err;
	user_name__of_uid(getuid(), &who);
	c->who = sudo_user() ? sudo_user() : who ? who : "?";
	if (isnan(c->at))
		c->at = (double)time(NULL);
	err = contact__add(ix, c);
	if (!err)
		print_contact("noted", c);
	free(who);
	return err;
}

/* The index may have lost the job, or have it under another id than the word: its note is found by
 * the word, too. */
static int take_away(struct index *ix, const struct options *o, const char *word, struct contact *c,
		     struct string_list *texts)
{
	struct contact removed;
	uint32_t job;
	int err = find_job(ix, o, word, c, texts);

	if (err == -ENOENT && !parse_u32(word, &job))
		c->job = job;
	err = err == -ENOENT ? 0 : err;
	if (!err)
		err = contact__remove(&removed, ix, word, c, texts);
	if (!err)
		print_contact("removed", &removed);
	else if (err == -ENOENT)
		log_error("%s: no such contact is noted: jobprof advice prints all", word);
	return err;
}

/* NaN without the option. 0, or 2, logged. */
static int parse_at(double *at, const char *word)
{
	int status = 0;

	*at = NAN;
	if (word)
		status = site_when__parse(at, "at", word);
	if (!status && word && !(*at <= (double)time(NULL))) {
		log_error("--at %s: it is a time that is over", word);
		status = 2;
	}
	return status;
}

static int change(const struct options *o, const char *word, double at)
{
	struct contact c = {.at = at, .rule = o->rule, .ticket = o->ticket, .text = o->text};
	struct string_list texts = {0};
	struct index ix;
	bool is_own;
	char *where = site_args__where(&o->site, &is_own);
	int err;

	if (!where)
		return 1;
	if (!is_own && sudo_user() && site_viewer__role(sudo_user()) != ROLE_STAFF) {
		log_error("%s: contacts are noted by members of StaffGroups of jobprof.conf",
			  sudo_user());
		free(where);
		return 1;
	}
	err = index__open(&ix, where, DB_WRITE);
	if (!err) {
		err = o->remove ? take_away(&ix, o, word, &c, &texts)
				: note(&ix, o, word, &c, &texts);
		index__close(&ix);
	}
	string_list__free(&texts);
	free(where);
	return err ? 1 : 0;
}

int verb_contacted(int argc, char **argv)
{
	struct options o = {0};
	double at;
	int status;

	site_args__init(&o.site, "all");
	status = options__read(&cmd_contacted, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	if (argc - optind != 1)
		return options__wrong(&cmd_contacted, "give one JOB, USER or SIGNATURE");
	status = parse_at(&at, o.at_word);
	return status ? status : change(&o, argv[optind], at);
}
