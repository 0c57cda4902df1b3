/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges profiles for the index, several at a time, in limited children. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cmd/jobprof/report.h"
#include "cmd/jobprof/site_args.h"
#include "index/file_row.h"
#include "index/row_now.h"
#include "jobfile/profiles.h"

/* A job may have many files, each with its limit of CPU time; the job's own ends the child by
 * SIGVTALRM, and by SIGALRM after ELAPSED times as long, for a machine may be busy. Small
 * node-steps, of 12 KB in a job file, are judged at 3.4 MB/s. */
#define JOB_S	    60
#define JOB_S_MAX   900
#define BYTES_PER_S (1 << 20)
#define ELAPSED	    4

struct reading {
	const struct scan_job *jobs;
	struct rules_text rules; /* read once, before children give up rights */
	struct file_row_judge judge;
};

/* The answer about a job is its rows, each after a 1, and a 0 at the end. */
static void put_more(struct message *m, int more)
{
	message__put(m, &more, sizeof(more));
}

/* Follows the 0: the error that was logged last, without the file's name. */
static void put_reason(const char *path, struct message *m)
{
	const struct log_errors *e = log__errors();
	const size_t n = strlen(path);
	const bool is_of_file = !strncmp(e->text, path, n) && !strncmp(e->text + n, ": ", 2);

	message__put_text(m, is_of_file ? e->text + n + 2 : "");
}

struct putting {
	struct message *m;
	const struct reading *reading;
	bool is_running;
};

static int put_row(const struct report *r, void *ctx)
{
	const struct putting *p = ctx;
	const struct rules_options rules = {.text = &p->reading->rules};
	struct message *m = p->m;
	json_t *report = report__json(r);
	struct row row;
	const struct model_attr *id = model_job__attr(r->job, "Job Id");
	int err = row__of_report(&row, report);

	if (!err)
		err = node_rows__of_job(&row.node_rows, r->job);
	if (!err && p->is_running)
		err = row_now__of(&row, r->job, r->facts, &rules);
	if (!err) {
		row.inside_id = id ? id->number : NAN;
		put_more(m, 1);
		err = row__put(&row, m);
	}
	row__free(&row);
	json_decref(report);
	return err ? 1 : 0;
}

/* Answers with the row stored in the job's file, if it is the only file and the row is current. */
static bool put_stored_row(const struct reading *w, const struct scan_job *j, struct message *m)
{
	const size_t begin = m->len;
	struct row row;
	bool fits;

	if (j->n != 1 || j->is_running)
		return false;
	pool__has_workers();
	fits = !file_row__read(&row, j->paths[0], j->mtime_s, &w->judge);
	if (fits) {
		put_more(m, 1);
		fits = !row__put(&row, m);
	}
	if (!fits)
		m->len = begin;
	row__free(&row);
	return fits;
}

/* Two jobs of the same id have two profiles here. */
static void judge_job(const struct reading *w, const struct scan_job *j, struct message *m)
{
	const struct profile_words words = {
		.words = j->paths, .nwords = j->n, .by_name = j->n == 1};
	const struct report_opts how = {.text = &w->rules, .here = j->is_of_many};
	struct putting put = {m, w, j->is_running};
	struct profiles found = {0};

	if (!profiles__find(&found, &words))
		for (unsigned i = 0; i < found.n; i++) {
			size_t begin = m->len;

			if (report__judge(found.v[i].files, found.v[i].n, &how, put_row, &put))
				m->len = begin;
		}
	profiles__free(&found);
}

static void limit(double s)
{
	const struct itimerval cpu = {.it_value = {(time_t)s, 0}};
	const struct itimerval elapsed = {.it_value = {ELAPSED * (time_t)s, 0}};

	setitimer(ITIMER_VIRTUAL, &cpu, NULL);
	setitimer(ITIMER_REAL, &elapsed, NULL);
}

static int read_job(void *arg, unsigned item, struct message *m)
{
	const struct reading *w = arg;
	const struct scan_job *j = &w->jobs[item];

	if (j->is_of_many) {
		log__only_count();
		/* a file may have become a link to another user's since it was found */
		foreign__of_all();
		foreign__only_of(j->uid);
		limit(fmin(JOB_S + j->bytes / BYTES_PER_S, JOB_S_MAX));
	}
	if (!put_stored_row(w, j, m))
		judge_job(w, j, m);
	limit(0); /* the result may wait until the parent takes it */
	put_more(m, 0);
	put_reason(j->paths[0], m);
	return 0;
}

/* A confined child may have sent anything. */
static int take_no_row(struct message *m, unsigned job, scan_take *take, void *arg)
{
	unsigned replaced;
	char *why = utf8__clean(message__take_text(m), 255, &replaced);
	int err = take(arg, job, NULL, why && *why ? why : "it cannot be read, or has no rows");

	free(why);
	return err;
}

static int take_rows(struct message *m, unsigned job, scan_take *take, void *arg)
{
	const int *more = message__take(m, sizeof(*more));
	bool is_enough = false;
	unsigned n = 0;
	struct row row;
	int err = 0;

	while (!err && more && *more) {
		err = row__take(&row, m);
		if (!err)
			err = take(arg, job, &row, NULL);
		row__free(&row);
		n++;
		is_enough |= err > 0;
		err = err > 0 ? 0 : err;
		more = err ? NULL : message__take(m, sizeof(*more));
	}
	if (err == -EBADMSG || (!err && !n))
		err = take_no_row(m, job, take, arg);
	return err ? err : is_enough;
}

int site_read__jobs(const struct scan_job *jobs, unsigned n, scan_take *take, void *arg)
{
	struct reading w = {.jobs = jobs};
	const struct pool_work work = {read_job, &w, n, .is_alone = true};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct pool *pool = NULL;
	int err;

	rules_text__read(&w.rules, NULL);
	err = file_row_judge__init(&w.judge, &w.rules);
	if (!err)
		err = pool__start(&pool, &work, cpus > 1 ? (unsigned)cpus : 1,
				  n && jobs->is_of_many ? &POOL_JUDGE_MANY : &POOL_JUDGE);

	for (unsigned i = 0; !err && i < n; i++) {
		struct message *m;

		err = pool__next(pool, &m);
		if (!err) {
			err = take_rows(m, i, take, arg);
		} else if (err == -EBADMSG || err == -ETIME || err == -EOWNERDEAD) {
			if (!jobs[i].is_of_many)
				log_error("%s: %s", jobs[i].paths[0], model_file__strerror(err));
			err = take(arg, i, NULL,
				   err == -ETIME	? "reading it takes too long for its size"
				   : err == -EOWNERDEAD ? NULL
							: model_file__strerror(err));
		}
	}
	if (err == -EINTR)
		pool__follow_signal();
	pool__free(pool);
	file_row_judge__free(&w.judge);
	rules_text__free(&w.rules);
	return err;
}
