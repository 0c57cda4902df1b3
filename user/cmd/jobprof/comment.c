/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes AdminComment of jobs: some a minute, and never over another's. */
#include "cmd/jobprof/comment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/call.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/index_actions.h"
#include "cmd/jobprof/js1.h"
#include "view/site/js1.h"

#define TRIES	    12
#define FIRST_S	    60 /* pause after the first failure; each is twice as long as the one before */
#define COMMENT_MAX (64 << 10) /* of Slurm's column */
#define DUE_MAX	    1000       /* of a turn */

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
};

/* ---- the queue */

/* Jobs that have ended: Slurm keeps no comment of others. */
static int enqueue(struct turn *t)
{
	const struct db_value since = db_value__int((int64_t)(t->now - t->o->since_s));

	return db__run(t->ix->db,
		       "INSERT INTO admin_comment (job, state, tries, next) "
		       "SELECT j.id, 'waits', 0, 0 FROM job j WHERE j.\"end\" >= ? "
		       "AND j.findings IS NOT NULL AND j.state IS NOT NULL AND j.state NOT IN "
		       "('', 'RUNNING', 'PENDING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING', "
		       "'RESIZING', 'STAGE_OUT', 'SIGNALING', 'STOPPED', 'REQUEUED') AND NOT "
		       "EXISTS (SELECT 1 FROM admin_comment c WHERE c.job = j.id)",
		       &since, 1);
}

/* How many may be tried now. */
static double allowed(struct turn *t, int *err)
{
	const struct db_value minute = db_value__int((int64_t)t->now - 60);

	return t->o->rate - db__number(t->ix->db, err,
				       "SELECT count(*) FROM admin_comment WHERE at > ?", &minute,
				       1);
}

static int read_due(struct turn *t, unsigned most)
{
	const struct db_value args[] = {db_value__int((int64_t)t->now), db_value__int(most)};
	struct db_rows r;
	int err = db__ask(&r, t->ix->db,
			  "SELECT c.job, j.job_id, c.tries, j.cluster FROM admin_comment c "
			  "JOIN job j ON j.id = c.job WHERE c.state = 'waits' AND c.next <= ? "
			  "ORDER BY c.next, j.\"end\" LIMIT ?",
			  args, 2);

	while (!err && t->n < DUE_MAX && db_rows__next(&r)) {
		struct due *d = &t->v[t->n++];

		*d = (struct due){r.v[0].i, (uint32_t)r.v[1].i, (unsigned)r.v[2].i, ""};
		if (r.v[3].type == DB_TEXT)
			snprintf(d->cluster, sizeof(d->cluster), "%s", r.v[3].text);
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	return err;
}

static int note(struct turn *t, const struct due *d, const char *state, double pause_s)
{
	const struct db_value args[] = {
		db_value__text(state),
		db_value__int((int64_t)(t->now + pause_s)),
		db_value__int((int64_t)t->now),
		db_value__int(d->id),
	};

	return db__run(t->ix->db,
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

/* 0; -ETIME, said; -EIO: it failed, said. *text is what it printed. */
static int call(const struct turn *t, const char *const argv[], char *text)
{
	int status = call__program(argv, -1, text, COMMENT_MAX, t->o->timeout_s);

	if (!status)
		return 0;
	if (status == -ETIME) {
		log_error("%s: it had not ended after %u s", argv[0], t->o->timeout_s);
		return status;
	}
	text[strcspn(text, "\n")] = '\0';
	log_error("%s: %s", argv[0],
		  status < 0	  ? strerror(-status)
		  : status == 127 ? "it is not in PATH"
				  : text);
	return -EIO;
}

/* The line "JOB|COMMENT" of this job: of an array's first id there are lines of all tasks. Moves
 * the comment to the front; false: there is none. */
static bool cut_comment(char *text, const char *job)
{
	const size_t n = strlen(job);
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, job, n) && line[n] == '|') {
			memmove(text, line + n + 1, strlen(line + n + 1) + 1);
			return true;
		}
	return false;
}

/* The job's comment. 0; -ENOENT: Slurm's accounting does not know the job yet. */
static int ask_comment(const struct turn *t, const struct due *d, const char *job, char *text)
{
	const char *const argv[] = {"sacct",
				    "-nPX",
				    "-o",
				    "JobIDRaw,AdminComment",
				    "-j",
				    job,
				    *d->cluster ? "-M" : NULL,
				    d->cluster,
				    NULL};
	int err = call(t, argv, text);

	return !err && !cut_comment(text, job) ? -ENOENT : err;
}

static int write_comment(const struct turn *t, const struct due *d, const char *job,
			 const char *comment, char *text)
{
	char which[32], cluster[96], *set = NULL;
	const char *argv[10] = {"sacctmgr", "-i", "modify", "job", "where", which};
	unsigned n = 6;
	int err;

	if (asprintf(&set, "admincomment=%s", comment) < 0)
		return -ENOMEM;
	snprintf(which, sizeof(which), "jobid=%s", job);
	snprintf(cluster, sizeof(cluster), "cluster=%s", d->cluster);
	if (*d->cluster)
		argv[n++] = cluster;
	argv[n++] = "set";
	argv[n] = set;
	err = call(t, argv, text);
	free(set);
	if (!err && strstr(text, "Nothing modified"))
		err = -ENOENT;
	return err;
}

/* Names that options and lists of Slurm's commands can be made of. */
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

static int comment_job(struct turn *t, const struct due *d, const char *comment, char *text)
{
	char job[16];
	int err;

	snprintf(job, sizeof(job), "%u", d->job);
	err = ask_comment(t, d, job, text);
	if (!err && *text && !str__starts(text, JS1_PREFIX)) {
		t->res->foreign++;
		return note(t, d, "foreign", 0);
	}
	if (!err && strcmp(text, comment))
		err = write_comment(t, d, job, comment, text);
	if (err) {
		int noted = note_failure(t, d);

		return noted ? noted : err == -ETIME ? err : 0;
	}
	t->res->written++;
	return note(t, d, "done", 0);
}

static int do_job(struct turn *t, const struct due *d)
{
	char *comment = is_plain(d->cluster) ? text_of(t, d) : NULL;
	char *text = malloc(COMMENT_MAX);
	int err = comment && text ? comment_job(t, d, comment, text) : note_failure(t, d);

	free(comment);
	free(text);
	return err;
}

int comment__turn(struct index *ix, const struct comment_options *o, struct comment_result *res)
{
	struct turn *t = calloc(1, sizeof(*t));
	double most = 0;
	int err = t ? 0 : -ENOMEM, unknown;

	if (t)
		*t = (struct turn){.ix = ix, .o = o, .res = res, .now = (double)time(NULL)};
	if (!err)
		err = enqueue(t);
	if (!err)
		most = allowed(t, &err);
	if (!err && most >= 1)
		err = read_due(t, most < DUE_MAX ? (unsigned)most : DUE_MAX);
	for (unsigned i = 0; !err && i < t->n; i++)
		err = do_job(t, &t->v[i]);
	res->waiting = (unsigned)db__number(
		ix->db, &unknown, "SELECT count(*) FROM admin_comment WHERE state = 'waits'", NULL,
		0);
	free(t);
	return err;
}

/* ---- the action */

int index_comment__run(const struct index_options *o, const char *where, int n, char **words)
{
	struct comment_options how = {.site = o->site, .since_s = COMMENT_SINCE_S};
	struct comment_result res = {0};
	struct index ix;
	int err;

	if (index_watch__take_number(&how.rate, COMMENT_RATE, "rate", o->rate) ||
	    index_watch__take_number(&how.timeout_s, COMMENT_TIMEOUT, "timeout", o->timeout))
		return 2;
	if (index_watch__open(&ix, where))
		return 1;
	err = comment__turn(&ix, &how, &res);
	index__close(&ix);
	printf("%u written, %u of others, %u failed, %u waiting\n", res.written, res.foreign,
	       res.failed, res.waiting);
	return err || res.failed;
}
