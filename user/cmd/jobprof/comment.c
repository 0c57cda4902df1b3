/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes AdminComment of jobs: a bounded number per minute, and never over a comment of others. */
#include "cmd/jobprof/comment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/index_actions.h"
#include "cmd/jobprof/js1.h"
#include "identity/slurm_lines.h"
#include "view/site/js1.h"

#define TRIES	   12
#define FIRST_S	   60 /* pause after the first failure; each is twice as long as the one before */
#define ANSWER_MAX (64 << 20) /* bytes of an answer: an array may have many tasks */
#define DUE_MAX	   1000	      /* jobs of a turn */

struct due {
	int64_t id; /* in the table job */
	uint32_t job;
	unsigned tries;
	char cluster[64];
};

struct turn {
	struct index *ix;
	const struct comment_options *o;
	struct comment_result *res;
	double now;
	struct due v[DUE_MAX];
	unsigned n;
	bool is_checked; /* sacctmgr was seen to store a comment unchanged */
};

/* ---- the queue */

/* Adds jobs that have ended, have a profile and are in Slurm's accounting, which names their user:
 * a profile may be forged. Drops those that ended too long ago: where more jobs end than the rate
 * allows, the queue would grow without end. Without the index each turn would read all jobs. */
static int enqueue(struct turn *t)
{
	const struct db_value since = db_value__int((int64_t)(t->now - t->o->since_s));
	int err = db__write(t->ix->db,
			    "CREATE INDEX IF NOT EXISTS job_end ON job (\"end\") WHERE sources = 3",
			    NULL, 0);

	if (!err)
		err = db__write(t->ix->db, "DELETE FROM admin_comment WHERE next > 0 AND next < ?",
				&since, 1);
	if (err)
		return err;
	return db__write(t->ix->db,
			 "INSERT INTO admin_comment (job, state, tries, next) "
			 "SELECT j.id, 'waits', 0, j.\"end\" FROM job j WHERE j.\"end\" >= ? "
			 "AND j.sources = 3 AND j.state IS NOT NULL AND j.state NOT IN "
			 "('', 'RUNNING', 'PENDING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING', "
			 "'RESIZING', 'STAGE_OUT', 'SIGNALING', 'STOPPED', 'REQUEUED') AND NOT "
			 "EXISTS (SELECT 1 FROM admin_comment c WHERE c.job = j.id)",
			 &since, 1);
}

/* The number of jobs that the rate allows now. */
static double allowed(struct turn *t, int *err)
{
	const struct db_value minute = db_value__int((int64_t)t->now - 60);

	return t->o->rate - db__number(t->ix->db, err,
				       "SELECT count(*) FROM admin_comment WHERE at > ?", &minute,
				       1);
}

/* The newest first, for these are looked at; users take turns. */
static int read_due(struct turn *t, unsigned most)
{
	const struct db_value args[] = {db_value__int((int64_t)t->now), db_value__int(most)};
	struct db_rows r;
	int err = db__ask(&r, t->ix->db,
			  "SELECT c.job, j.job_id, c.tries, j.cluster FROM admin_comment c "
			  "JOIN job j ON j.id = c.job WHERE c.state = 'waits' AND c.next <= ? "
			  "ORDER BY c.tries, row_number() OVER (PARTITION BY c.tries, j.\"user\" "
			  "ORDER BY c.next DESC), c.next DESC LIMIT ?",
			  args, 2);

	while (!err && t->n < DUE_MAX && db_rows__next(&r)) {
		struct due *d = &t->v[t->n++];

		*d = (struct due){r.v[0].i, (uint32_t)r.v[1].i, (unsigned)r.v[2].i, ""};
		if (r.v[3].type == DB_TEXT)
			snprintf(d->cluster, sizeof(d->cluster), "%s", r.v[3].text);
	}
	return db_rows__end(&r, err);
}

static int note(struct turn *t, const struct due *d, const char *state, double pause_s)
{
	const struct db_value args[] = {
		db_value__text(state),
		db_value__int((int64_t)(t->now + pause_s)),
		db_value__int((int64_t)t->now),
		db_value__int(d->id),
	};

	return db__write(t->ix->db,
			 "UPDATE admin_comment SET state = ?, tries = tries + 1, next = ?, at = ? "
			 "WHERE job = ?",
			 args, 4);
}

static int note_failure(struct turn *t, const struct due *d)
{
	t->res->failed++;
	return note(t, d, d->tries + 1 < TRIES ? "waits" : "failed", ldexp(FIRST_S, (int)d->tries));
}

/* ---- Slurm's commands */

/* What a command printed about a job. */
struct answer {
	const char *job;
	char *comment; /* by sacct; NULL: sacct does not know the job */
	bool did_nothing;
};

/* A line is "JOB|COMMENT"; for the id of an array, sacct prints lines of all its tasks. */
static int take_comment(void *arg, const char *line)
{
	struct answer *a = arg;
	const size_t n = strlen(a->job);

	if (a->comment || strncmp(line, a->job, n) != 0 || line[n] != '|')
		return 0;
	a->comment = strdup(line + n + 1);
	return a->comment ? 0 : -ENOMEM;
}

static int take_report(void *arg, const char *line)
{
	struct answer *a = arg;

	a->did_nothing |= strstr(line, "Nothing modified") != NULL;
	return 0;
}

/* 0; -errno, logged. */
static int call(const struct turn *t, const char *const argv[],
		int (*take)(void *arg, const char *line), struct answer *a)
{
	struct slurm_lines l = {
		.argv = (char *const *)argv,
		.seconds = t->o->wait_s,
		.most = ANSWER_MAX,
		.take = take,
		.arg = a,
	};
	int err = slurm_lines__read(&l);

	if (err == -ETIME)
		log_error("%s: it had not ended after %.0f s", argv[0], t->o->wait_s);
	else if (err == -ENOENT)
		log_error("%s: it is not in PATH", argv[0]);
	else if (err)
		log_error("%s: %s", argv[0], err == -EIO ? l.said : strerror(-err));
	return err == -ENOENT ? -EIO : err;
}

/* Reads the job's comment. 0; -ENOENT: Slurm's accounting does not know the job yet; -errno. */
static int ask_comment(const struct turn *t, const struct due *d, struct answer *a)
{
	const char *const argv[] = {"sacct",
				    "-nPX",
				    "-o",
				    "JobIDRaw,AdminComment",
				    "-j",
				    a->job,
				    *d->cluster ? "-M" : NULL,
				    d->cluster,
				    NULL};
	int err = call(t, argv, take_comment, a);

	return !err && !a->comment ? -ENOENT : err;
}

static int write_comment(const struct turn *t, const struct due *d, struct answer *a,
			 const char *comment)
{
	char which[32], cluster[96], *set = NULL;
	const char *argv[10] = {"sacctmgr", "-i", "modify", "job", "where", which};
	unsigned n = 6;
	int err;

	if (asprintf(&set, "admincomment=%s", comment) < 0)
		return -ENOMEM;
	snprintf(which, sizeof(which), "jobid=%s", a->job);
	snprintf(cluster, sizeof(cluster), "cluster=%s", d->cluster);
	if (*d->cluster)
		argv[n++] = cluster;
	argv[n++] = "set";
	argv[n] = set;
	err = call(t, argv, take_report, a);
	free(set);
	return !err && a->did_nothing ? -ENOENT : err;
}

/* Whether Slurm's commands take the name as one name: it is no option and no list. */
static bool is_plain(const char *name)
{
	return *name != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-.")];
}

/* ---- a turn */

/* The text of a job; NULL: it cannot be made. */
static char *text_of(const struct turn *t, const struct due *d)
{
	const struct jobspec spec = {.kind = JOBSPEC_JOB, .job = d->job};
	const struct viewer all = {.sees_all = true};
	struct row_list rows;
	char *text = NULL;

	if (!index__find(t->ix, &spec, *d->cluster ? d->cluster : NULL, &all, &rows) && rows.n) {
		struct site_job j = {.row = rows.v[0]};

		text = js1__of_job(&j, &t->o->site);
	}
	row_list__free(&rows);
	return text;
}

/* sacctmgr of Slurm 22.05 and before stores comments in lower case, which breaks base64: the first
 * comment of a turn is read again, and removed where it was changed. */
static int check_comment(struct turn *t, const struct due *d, struct answer *a, const char *comment)
{
	int err;

	if (t->is_checked)
		return 0;
	free(a->comment);
	a->comment = NULL;
	err = ask_comment(t, d, a);
	t->is_checked = !err && !strcmp(a->comment, comment);
	if (err || t->is_checked)
		return err;
	log_error(
		"sacctmgr does not store comments as they are, such as that of Slurm 22.05, which "
		"makes them lower case: nothing is written");
	write_comment(t, d, a, "");
	return -EOPNOTSUPP;
}

static int comment_job(struct turn *t, const struct due *d, const char *comment)
{
	char job[16];
	struct answer a = {.job = job};
	bool is_foreign = false;
	int err, noted;

	snprintf(job, sizeof(job), "%u", d->job);
	err = ask_comment(t, d, &a);
	if (!err)
		is_foreign = *a.comment && !str__starts(a.comment, JS1_PREFIX);
	if (!err && !is_foreign && strcmp(a.comment, comment) != 0) {
		err = write_comment(t, d, &a, comment);
		if (!err)
			err = check_comment(t, d, &a, comment);
	}
	free(a.comment);
	if (err) {
		noted = note_failure(t, d);
		return noted ? noted : err == -ETIME || err == -EOPNOTSUPP ? err : 0;
	}
	t->res->foreign += is_foreign;
	t->res->written += !is_foreign;
	return note(t, d, is_foreign ? "foreign" : "done", 0);
}

static int do_job(struct turn *t, const struct due *d)
{
	char *comment = is_plain(d->cluster) ? text_of(t, d) : NULL;
	int err = comment ? comment_job(t, d, comment) : note_failure(t, d);

	free(comment);
	return err;
}

int comment__turn(struct index *ix, const struct comment_options *o, struct comment_result *res)
{
	struct turn *t = calloc(1, sizeof(*t));
	double most = 0, waiting;
	int err = t ? 0 : -ENOMEM, unknown;

	if (t)
		*t = (struct turn){.ix = ix, .o = o, .res = res, .now = (double)time(NULL)};
	db__share(ix->db); /* others may write while Slurm's commands run */
	if (!err)
		err = enqueue(t);
	if (!err)
		most = allowed(t, &err);
	if (!err && most >= 1)
		err = read_due(t, most < DUE_MAX ? (unsigned)most : DUE_MAX);
	for (unsigned i = 0; !err && i < t->n; i++)
		err = do_job(t, &t->v[i]);
	waiting = db__number(ix->db, &unknown,
			     "SELECT count(*) FROM admin_comment WHERE state = 'waits'", NULL, 0);
	res->waiting = waiting > 0 ? (unsigned)waiting : 0; /* NaN: the index cannot be read */
	free(t);
	return err;
}

/* ---- the action */

int index_comment__run(const struct index_options *o, const char *where, int n, char **words)
{
	const struct comment_options how = {
		.site = o->site,
		.rate = o->rate < 0 ? COMMENT_RATE : o->rate,
		.wait_s = o->wait_s > 0 ? o->wait_s : COMMENT_WAIT_S,
		.since_s = COMMENT_SINCE_S,
	};
	struct comment_result res = {0};
	struct index ix;
	int err;

	if (index__open(&ix, where, DB_WRITE))
		return 1;
	err = comment__turn(&ix, &how, &res);
	index__close(&ix);
	if (!o->is_service || res.written || res.foreign || res.failed)
		printf("%u written, %u of others, %u failed, %u waiting\n", res.written,
		       res.foreign, res.failed, res.waiting);
	return err || res.failed;
}
