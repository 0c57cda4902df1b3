/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof index: makes the database of all jobs, brings it up to date and checks it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/index_actions.h"
#include "cmd/jobprof/verbs.h"
#include "index/accounting.h"
#include "index/coordinators.h"
#include "index/exchange.h"
#include "index/scan.h"
#include "index/sums.h"
#include "jobfile/profiles.h"

static int take_every(void *to, const struct opt *opt, const char *arg)
{
	struct index_options *o = to;

	if (!parse_double(arg, &o->every_s) && o->every_s >= 1)
		return 0;
	log_error("--every %s: give a number of seconds, 1 or more", arg);
	return 2;
}

static int take_wait(void *to, const struct opt *opt, const char *arg)
{
	struct index_options *o = to;

	if (!parse_double(arg, &o->wait_s) && o->wait_s > 0)
		return 0;
	log_error("--wait %s: give a number of seconds above 0", arg);
	return 2;
}

static int take_count(void *to, const struct opt *opt, const char *arg)
{
	uint32_t v;

	if (parse_u32(arg, &v) || v > 1000000) {
		log_error("--%s %s: give a whole number up to 1000000", opt->name, arg);
		return 2;
	}
	*(int *)to = (int)v;
	return 0;
}

static const struct opt opts[] = {
	OPTS_DATABASE(struct index_options),
	{'M', "cluster", "NAME",
	 "scan: the cluster of profiles that do not name theirs; sync: jobs of these alone",
	 OPT_TEXT(struct index_options, cluster)},
	{0, "again", NULL, "scan: also what has been read", OPT_FLAG(struct index_options, again)},
	{'v', "verbose", NULL, "check: names each file that is refused or not readable, and why",
	 OPT_FLAG(struct index_options, verbose)},
	{'u', "user", "LIST", "export: of these users",
	 OPT_TEXT(struct index_options, site.filter.user)},
	{0, "csv", NULL, "export: as CSV, without findings and nodes",
	 OPT_FLAG(struct index_options, site.csv)},
	{0, "anonymize", NULL, "export: with pseudonyms, and without texts and nodes",
	 OPT_FLAG(struct index_options, anonymize)},
	{0, "every", "S", "watch: the pause between two looks, s (default 60)",
	 OPT_CALL(take_every)},
	{0, "detail", "TIME", "prune: rows keep names so long (default 18m)",
	 OPT_CALL_AT(index_watch__take_age, struct index_options, detail)},
	{0, "keep", "TIME", "prune: rows stay so long (default 5y)",
	 OPT_CALL_AT(index_watch__take_age, struct index_options, keep)},
	{'S', "since", "TIME", "sync: jobs that ended since: 7d, 1y, 2026-11-01, all",
	 OPT_CALL_AT(site_args__take_since, struct index_options, site)},
	{0, "sacct", "PATH", "sync: the sacct that is asked; default: that of PATH",
	 OPT_TEXT(struct index_options, sacct)},
	{0, "squeue", "PATH", "watch: the squeue that is asked; default: that of PATH; none: not",
	 OPT_TEXT(struct index_options, squeue)},
	{0, "wait", "SECONDS",
	 "for a command that is called: sync (default 600), watch, comment, mail (30)",
	 OPT_CALL(take_wait)},
	{0, "rate", "N", "comment, mail: at most so many a minute (default 30, 60)",
	 OPT_CALL_AT(take_count, struct index_options, rate)},
	{0, "delay", "SECONDS", "mail: until the job is in the index (default 120)",
	 OPT_CALL_AT(take_count, struct index_options, delay)},
	{0, "spool", "DIR", "mail: instead of MailSpool of jobprof.conf",
	 OPT_TEXT(struct index_options, spool)},
	{0, "sendmail", "FILE", "mail: instead of /usr/sbin/sendmail",
	 OPT_TEXT(struct index_options, sendmail)},
	{0},
};

static index_action do_scan, do_sync, do_check, do_remake, do_export, do_import;

static const struct action {
	const char *name, *help;
	index_action *fn;
} actions[] = {
	{"scan", "DIR... reads what is new there, and in the directories in it", do_scan},
	{"sync", "reads what has ended since from Slurm's accounting", do_sync},
	{"check", "compares sums with rows, and looks for damage", do_check},
	{"remake",
	 "makes all sums again; DIR...: all rows, of the profiles there, also\n"
	 "           where the database is damaged, which becomes PATH.old",
	 do_remake},
	{"watch", "DIR... scans again and again: what jobprof-index.service runs",
	 index_watch__run},
	{"prune", "replaces names in old rows, and deletes older ones", index_watch__prune},
	{"forget", "USER: that user's rows lose the name", index_watch__forget},
	{"comment", "writes AdminComment of jobs that have ended, for jobstats",
	 index_comment__run},
	{"mail", "sends what jobprof mail has put into MailSpool", index_mail__run},
	{"export", "prints all rows, as lines of JSON", do_export},
	{"import", "FILE... reads what export has printed; \"-\": standard input", do_import},
};

static void print_actions(FILE *out)
{
	fputs("\nActions:\n", out);
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		fprintf(out, "  %-8s %s\n", actions[i].name, actions[i].help);
}

const struct command cmd_index = {
	.name = "jobprof index",
	.usage = "ACTION [OPTION]... [DIR|FILE]...",
	.about = "Makes the database of all jobs, which jobs and usage ask, and keeps it up to\n"
		 "date.",
	.opts = opts,
	.more = print_actions,
};

/* Prints how many jobs of a source stay out of the index, or lose their names, after prune and
 * forget. */
static void say_left(const struct privacy_left *l)
{
	const time_t before = (time_t)l->rows_before;
	char date[32];
	struct tm tm;

	if (l->gone && localtime_r(&before, &tm) && strftime(date, sizeof(date), "%Y-%m-%d", &tm))
		printf("%lu job%s from before %s left out: prune removes these\n", l->gone,
		       l->gone == 1 ? "" : "s", date);
	if (l->nameless)
		printf("%lu job%s without names, as after prune or forget\n", l->nameless,
		       l->nameless == 1 ? "" : "s");
}

static void say(const char *dir, const struct scan_result *r)
{
	printf("%s: %lu job%s of %lu new file%s", dir, r->jobs, r->jobs == 1 ? "" : "s", r->files,
	       r->files == 1 ? "" : "s");
	if (r->gone)
		printf(", %lu gone", r->gone);
	if (r->refused)
		printf(", %lu refused", r->refused);
	if (r->unreadable)
		printf(", %lu not readable", r->unreadable);
	putchar('\n');
	say_left(&r->left);
}

static int scan_one(struct index *ix, const struct index_options *o, const char *dir)
{
	const struct scan_options how = {
		.read = site_read__jobs, .cluster = o->cluster, .all = o->again};
	struct scan_result res = {0};
	char *path = realpath(dir, NULL);
	int err;

	if (!path || !path__is_dir(path)) {
		log_error("%s: %s", dir, path ? "it is no directory" : strerror(errno));
		free(path);
		return 1;
	}
	err = scan__path(ix, path, &how, &res);
	say(dir, &res);
	free(path);
	return err || res.refused || res.unreadable;
}

static int do_scan(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	char *dir = NULL;
	int status = 0;

	if (!n && profile_dir__find(&dir))
		return 1;
	if (index__open(&ix, where, DB_WRITE)) {
		free(dir);
		return 1;
	}
	if (!n)
		status = scan_one(&ix, o, dir);
	for (int i = 0; i < n; i++)
		status |= scan_one(&ix, o, words[i]);
	free(dir);
	index__close(&ix);
	return status;
}

/* ---- sync */

#define LONG_AGO 946684800.0 /* 2000-01-01 as Unix time: before Slurm existed */

static double begin_of(const struct site_args *a)
{
	if (!a->since_word)
		return NAN;
	return isnan(a->filter.since) ? LONG_AGO : a->filter.since;
}

static int do_sync(const struct index_options *o, const char *where, int n, char **words)
{
	const struct accounting_options how = {o->sacct, o->cluster, begin_of(&o->site), o->wait_s};
	struct accounting_result res = {0};
	struct index ix;
	int err;

	if (n)
		return options__wrong(&cmd_index, "sync takes no \"%s\"", words[0]);
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	err = accounting__sync(&ix, &how, &res);
	if (!err)
		coordinators__sync(&ix, &how);
	index__close(&ix);
	printf("sacct: %lu job%s", res.jobs, res.jobs == 1 ? "" : "s");
	if (res.senseless)
		printf(", %lu row%s of no sense", res.senseless, res.senseless == 1 ? "" : "s");
	putchar('\n');
	say_left(&res.left);
	return err || res.senseless;
}

/* Makes all rows again, from profiles. */
static int remake_rows(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	int status = 0;

	if (index__open(&ix, where, DB_ANEW))
		return 1;
	for (int i = 0; i < n; i++)
		status |= scan_one(&ix, o, words[i]);
	index__close(&ix);
	return status;
}

static int do_remake(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	int err;

	if (n)
		return remake_rows(o, where, n, words);
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	err = index__begin(&ix);
	if (!err)
		err = sums__remake(&ix);
	if (!err)
		err = index__commit(&ix);
	index__close(&ix);
	return err ? 1 : 0;
}

/* ---- export, import: rows go to other places and come from there */

static int do_export(const struct index_options *o, const char *where, int n, char **words)
{
	const struct exchange_form form = {.csv = o->site.csv, .anonymize = o->anonymize};
	struct viewer viewer;
	struct index ix;
	int err;

	if (site_args__open(&o->site, &ix, &viewer))
		return 1;
	db__limit(ix.db, 0); /* printing all rows may take long */
	err = exchange__write(&ix, stdout, &o->site.filter, &viewer, &form);
	index__close(&ix);
	return err ? 1 : 0;
}

static int import_one(struct index *ix, const struct index_options *o, const char *name)
{
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	struct exchange_result res = {0};
	int err;

	if (!in) {
		log_error("%s: %s", name, strerror(errno));
		return 1;
	}
	err = exchange__read(ix, in, name, o->cluster, &res);
	printf("%s: %lu row%s", name, res.rows, res.rows == 1 ? "" : "s");
	if (res.refused)
		printf(", %lu refused", res.refused);
	putchar('\n');
	say_left(&res.left);
	if (in != stdin)
		fclose(in);
	return err || res.refused;
}

static int do_import(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	int status = 0;

	if (!n) {
		log_error("import: give a FILE; \"-\" is standard input");
		return 2;
	}
	if (index__open(&ix, where, DB_WRITE))
		return 1;
	for (int i = 0; i < n; i++)
		status |= import_one(&ix, o, words[i]);
	index__close(&ix);
	return status;
}

/* ---- check */

/* Days and months in dirty are left out: their sums are still to be made. */
#define DONE	   " WHERE day NOT IN (SELECT day FROM dirty)"
#define DONE_MONTH " WHERE month NOT IN (SELECT month FROM dirty)"

static const struct {
	const char *what, *sql;
} differences[] = {
	{"sums by day and jobs", "SELECT abs((SELECT count(*) FROM job" DONE
				 ") - (SELECT COALESCE(sum(jobs), 0) FROM day" DONE "))"},
	{"core-seconds held by day and by job",
	 "SELECT abs(COALESCE((SELECT sum(held_core_s) FROM job" DONE "), 0) - "
	 "COALESCE((SELECT sum(held_core_s) FROM day" DONE "), 0)) / "
	 "(1 + COALESCE((SELECT sum(held_core_s) FROM job" DONE "), 0)) > 1e-9"},
	{"core-seconds lost by month and by job",
	 "SELECT abs(COALESCE((SELECT sum(lost_core_s) FROM job" DONE_MONTH "), 0) - "
	 "COALESCE((SELECT sum(lost_core_s) FROM month" DONE_MONTH " AND month >= "
	 "(SELECT COALESCE(min(month), 0) FROM job)), 0)) / "
	 "(1 + COALESCE((SELECT sum(lost_core_s) FROM job" DONE_MONTH "), 0)) > 1e-9"},
	{"findings of no job", "SELECT count(*) FROM finding f WHERE NOT EXISTS (SELECT 1 FROM job "
			       "j WHERE j.id = f.job)"},
	{"findings by job and in their table", "SELECT abs((SELECT count(*) FROM finding) - "
					       "(SELECT COALESCE(sum(findings), 0) FROM job))"},
};

/* 0, or 1: a difference, which has been printed, or an error. */
static int check_one(struct index *ix, size_t i)
{
	int err;
	double v = db__number(ix->db, &err, differences[i].sql, NULL, 0);

	if (!err && !(v > 0))
		return 0;
	if (!err)
		printf("%s differ\n", differences[i].what);
	return 1;
}

static int print_counts(struct index *ix)
{
	static const char *const sql[] = {
		"SELECT count(*) FROM job", "SELECT count(*) FROM job WHERE findings IS NOT NULL",
		"SELECT count(*) FROM file", "SELECT count(*) FROM file WHERE state <> 'read'"};
	double v[4] = {0};
	int err = 0;

	for (size_t i = 0; !err && i < 4; i++)
		v[i] = db__number(ix->db, &err, sql[i], NULL, 0);
	if (!err)
		printf("%s: %.0f jobs, %.0f with a profile; %.0f files, %.0f of them refused or "
		       "not readable\n",
		       db__name(ix->db), v[0], v[1], v[2], v[3]);
	return err;
}

/* The database may have any text. */
static int print_failed(struct index *ix)
{
	struct db_rows r;
	int err = db__ask(&r, ix->db,
			  "SELECT path, state, why FROM file WHERE state <> 'read' ORDER BY path",
			  NULL, 0);

	while (!err && db_rows__next(&r)) {
		print__escaped(stdout, r.v[0].text);
		printf(": %s: ", strcmp(r.v[1].text, "refused") ? "not readable" : "refused");
		print__escaped(stdout, r.v[2].text ? r.v[2].text : "");
		putchar('\n');
	}
	return db_rows__end(&r, err);
}

static int do_check(const struct index_options *o, const char *where, int n, char **words)
{
	struct index ix;
	int status = 0, err = index__open(&ix, where, DB_READ);

	if (err == -ENOENT)
		site_args__say_none(where);
	if (err)
		return 1;
	status = db__check(ix.db) != 0;
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++)
		status |= check_one(&ix, i);
	if (o->verbose)
		status |= print_failed(&ix) != 0;
	status |= print_counts(&ix) != 0;
	if (!status)
		puts("no difference");
	index__close(&ix);
	return status;
}

/* ---- the verb */

int verb_index(int argc, char **argv)
{
	struct index_options o = {
		.every_s = 60, .detail = "18m", .keep = "5y", .rate = -1, .delay = -1};
	const char *word;
	char *where;
	bool is_own;
	int status;

	site_args__init(&o.site, "all");
	o.site.since_word = NULL;
	status = options__read(&cmd_index, argc, argv, &o);
	if (status != OPTIONS_GO_ON)
		return status;
	word = optind < argc ? argv[optind++] : "";
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (strcmp(actions[i].name, word))
			continue;
		where = site_args__where(&o.site, &is_own);
		if (!where || (is_own && site_args__make_way(where)))
			return 1;
		status = actions[i].fn(&o, where, argc - optind, argv + optind);
		free(where);
		return status;
	}
	return options__wrong(&cmd_index, *word ? "there is no action \"%s\"" : "which action%s",
			      word);
}
