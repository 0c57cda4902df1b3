/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof contacted: support has written to a user. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/site_args.h"
#include "cmd/jobprof/user_name.h"
#include "cmd/jobprof/verbs.h"
#include "index/contact.h"

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
