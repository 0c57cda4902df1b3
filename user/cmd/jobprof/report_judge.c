// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a job, and judges it by rules, PIKA's tags and the character of its I/O. */
#include "cmd/jobprof/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/facts_fill.h"
#include "base/log.h"
#include "base/utf8.h"
#include "pool/pool.h"
#include "view/report/report.h"
#include "view/report/report_text.h"

/* Reads the peaks of each node. Peaks in a wrong file count as not known, and the error is logged.
 */
static struct peaks *read_peaks(const struct model_job *j)
{
	struct peaks *p = calloc(j->nnodes + 1, sizeof(*p));
	int err = 0;

	for (unsigned i = 0; p && i < j->nnodes; i++) {
		peaks__init(&p[i]);
		if (!err)
			err = peaks__read(&p[i], NULL, j->nodes[i].unit.name);
	}
	return p;
}

/* 0 or -ENOMEM. */
static int judge_pika(struct pika_job *pika, const struct model_job *j, const struct facts *f,
		      const struct report_opts *o)
{
	struct peaks *peaks = read_peaks(j);
	const struct pika_options how = {peaks, o->force};
	int err = peaks ? pika_job__of(pika, j, f, &how) : -ENOMEM;

	free(peaks);
	return err;
}

void report__print_rules(FILE *out)
{
	const size_t none[N_SCOPES] = {[SCOPE_JOB] = 1};
	const struct rules_options rules = {.site = ""};
	struct verdict v = {0};
	struct facts facts;

	if (!facts__alloc(&facts, none) && !rules__judge(&v, &facts, &rules)) {
		for (size_t i = 0; i < v.nfindings; i++)
			fprintf(out, "%s ", v.findings[i].id);
		for (size_t i = 0; i < v.nothers; i++)
			fprintf(out, "%s ", v.others[i].id);
	}
	verdict__free(&v);
	facts__free(&facts);
}

/* 0, or the exit status. */
static int judge_job(const struct model_job *j, const struct report_opts *o,
		     const struct rules_text *text, report_use *use, void *ctx)
{
	struct facts facts;
	struct verdict verdict = {0};
	struct pika_job pika = {0};
	struct io_jobs io = {0};
	struct report r = {
		.job = j,
		.facts = &facts,
		.verdict = &verdict,
		.pika = &pika,
		.io = &io,
		.all = o->all,
		.utf8 = utf8__is_locale(),
		.is_run = o->is_run,
		.lines_after = o->lines_after,
		.more = o->more,
		.name = o->name,
		.alike = o->alike,
	};
	const struct rules_options rules = {.site = o->rules, .text = text};
	int err = facts__of(&facts, j), status = 1;

	if (!err)
		err = rules__judge(&verdict, &facts, &rules);
	if (!err)
		err = judge_pika(&pika, j, &facts, o);
	if (!err)
		err = io_jobs__of(&io, j, &facts);
	if (!err)
		status = use(&r, ctx);
	else if (err == -ENOMEM)
		log_error("%s", strerror(ENOMEM));
	else if (o->rules)
		log_error("%s: the rules cannot be used: %s", o->rules, rules_file__reason(err));
	io_jobs__free(&io);
	pika_job__free(&pika);
	verdict__free(&verdict);
	facts__free(&facts);
	return status;
}

static void log_no_rows(const struct model_job *j, const struct job_input *in)
{
	const struct job_part *unread = model_job__unread(j);
	const char *path = in->path;

	if (unread) {
		log_error("%s: node %s: %s", path, j->nodes[unread->node].unit.name,
			  unread->trouble);
		return;
	}
	log_error("%s: %s", path,
		  !j->nparts && in->nodes ? "it has no node that -N names"
					  : "it has no rows, or all of one instant");
}

/* 0, or the exit status. */
static int read_and_judge(const struct job_input *inputs, unsigned n, const struct report_opts *o,
			  const struct rules_text *rules, report_use *use, void *ctx)
{
	const struct job_options how = {.here = o->here};
	struct model_job job;
	int err = model_job__read(&job, inputs, n, &how);
	int status = 1;

	if (!err)
		status = judge_job(&job, o, rules, use, ctx);
	else if (err == -EINVAL)
		log_error("%s: the files are of several jobs", inputs[0].path);
	else if (err == -ENODATA)
		log_no_rows(&job, &inputs[0]);
	else if (err != -EIO) /* which has been said */
		log_error("%s: %s", n ? inputs[0].path : "", strerror(-err));
	model_job__free(&job);
	return status;
}

int report__judge(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		  report_use *use, void *ctx)
{
	struct model_files files;
	struct rules_text rules;
	int status;

	pool__has_workers();
	if (!o->text) /* by the rights of this process, not of a file's owner */
		rules_text__read(&rules, o->rules);
	model_files__open(&files, inputs, n);
	status = read_and_judge(inputs, n, o, o->text ? o->text : &rules, use, ctx);
	model_files__close(&files);
	if (!o->text)
		rules_text__free(&rules);
	return status;
}

/* ---- in a child of its own */

struct asking {
	const struct job_input *inputs;
	unsigned n;
	const struct report_opts *o;
	const struct report_question *q;
	struct message *m;
};

static int put_answer(const struct report *r, void *ctx)
{
	const struct asking *a = ctx;

	return a->q->put(r, a->m, a->q->ctx);
}

/* The message begins with the exit status; the answer follows where that is 0. */
static int answer(void *arg, unsigned item, struct message *m)
{
	struct asking *a = arg;
	size_t begin = m->len;
	int status = 0;

	(void)item;
	a->m = m;
	message__put(m, &status, sizeof(status));
	status = report__judge(a->inputs, a->n, a->o, put_answer, a);
	if (status) {
		m->len = begin;
		message__put(m, &status, sizeof(status));
	}
	return 0;
}

int report__ask(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		const struct report_question *q)
{
	struct asking a = {.inputs = inputs, .n = n, .o = o, .q = q};
	const struct pool_work work = {.work = answer, .arg = &a, .nitems = 1};
	struct pool *pool = NULL;
	const int *status = NULL;
	struct message *m;
	int err = pool__start(&pool, &work, 1, &POOL_JUDGE), result = 1;

	if (!err)
		err = pool__next(pool, &m);
	if (!err)
		status = message__take(m, sizeof(*status));
	if (status)
		result = *status ? *status : q->take(m, q->ctx);
	if (err == -EINTR)
		pool__follow_signal();
	else if (!status)
		log_error("%s: %s", inputs->path, model_file__strerror(err ? err : -EBADMSG));
	pool__free(pool);
	return result;
}
