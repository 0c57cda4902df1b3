/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The looks of jobprof top. */
#include "cmd/jobprof/top/top_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "client/protocol.h"
#include "cmd/jobprof/client_conn.h"
#include "identity/identity.h"
#include "jobfile/profiles.h"

/* Rates of the node need two readings: the first ones are of this time. */
#define FIRST_NS 200000000

static int ask_node(struct top *t, char *reason, unsigned size)
{
	struct top_rows rows = {};
	int err = top_rows__ask(&rows, t->job_id, reason, size);

	if (err) {
		top_rows__free(&rows);
		return err;
	}
	top_rows__free(&t->rows);
	t->rows = rows;
	return 0;
}

static int read_files(struct top *t)
{
	const struct top_source from = {t->where, t->jobs, t->njobs};
	int err = top_files__look(&t->files, &t->rows, &from);

	if (err && err != -ENOTUNIQ)
		log_error("job %s: %s", t->job, strerror(-err));
	return err ? 1 : 0;
}

/* A job's id, for jobprofd, which knows no other names. 0 or the exit status. */
static int parse_job(struct top *t)
{
	struct jobspec *specs;
	unsigned n;
	int status;

	t->job_id = JPC_ALL;
	if (!t->job)
		return 0;
	status = profile_words__jobs(&specs, &n, t->job);
	if (status)
		return status;
	if (n != 1 || !specs[0].any_step) {
		log_error("-j: \"%s\" is not one job, as in 42 or 42_3", t->job);
		status = 2;
	} else {
		t->jobs[0] = t->job_id = specs[0].job;
		t->njobs = 1;
		if (specs[0].kind != JOBSPEC_JOB) {
			t->job_id = 0;
			t->njobs = slurmjob__running(t->job, t->jobs, TOP_JOBS);
		}
		if (t->njobs == 1)
			t->job_id = t->jobs[0];
		if (!t->njobs) {
			log_error("-j: squeue knows no job %.60s that runs", t->job);
			status = 1;
		}
		snprintf(t->about, sizeof(t->about), "nodes of job %.60s", t->job);
	}
	free(specs);
	return status;
}

static int begin_files(struct top *t)
{
	int status = read_files(t);

	t->of_files = true;
	if (status)
		return status;
	if (t->rows.n)
		return 0;
	log_error("job %s: no step of it that you may see runs and has a file: files come 30 to "
		  "60 s after a step's begin, see PublishInterval in jobprof.conf(5)",
		  t->job);
	return 1;
}

int top__begin(struct top *t)
{
	const struct timespec first = {.tv_nsec = FIRST_NS};
	char reason[256] = "";
	int err = parse_job(t);

	if (err)
		return err;
	if (t->where || t->job_id == 0)
		return begin_files(t);
	err = ask_node(t, reason, sizeof(reason));
	if (err && t->job)
		return begin_files(t);
	if (err == -ENOTCONN && !reason[0])
		snprintf(reason, sizeof(reason), "%s",
			 "no jobprofd on this node: it runs where jobs "
			 "do; elsewhere -j JOB shows the nodes of a job");
	if (err)
		return client_conn__failed(err, reason);
	top_node__look(&t->node);
	nanosleep(&first, NULL);
	top_node__look(&t->node);
	return 0;
}

void top__look(struct top *t)
{
	char reason[256] = "";
	int err;

	t->trouble[0] = '\0';
	if (t->of_files) {
		if (read_files(t))
			snprintf(t->trouble, sizeof(t->trouble), "%s", log__errors()->text);
		return;
	}
	top_node__look(&t->node);
	err = ask_node(t, reason, sizeof(reason));
	if (err)
		client_conn__explain(t->trouble, sizeof(t->trouble), err, reason);
}

void top__arrange(struct top *t, unsigned width)
{
	if (top_view__arrange(&t->view, &t->rows))
		snprintf(t->trouble, sizeof(t->trouble), "%s", strerror(ENOMEM));
	top_layout__fit(&t->layout, width, &t->rows, &t->view, t->of_files);
}

struct top_head top__head(const struct top *t)
{
	return (struct top_head){.node = &t->node,
				 .rows = &t->rows,
				 .view = &t->view,
				 .about = t->of_files ? t->about : NULL,
				 .now = time(NULL),
				 .delay = t->delay};
}

void top__free(struct top *t)
{
	top_rows__free(&t->rows);
	top_view__free(&t->view);
	top_files__free(&t->files);
}
