/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof report on files of several jobs: each job is judged, and is a line of a table. */
#include "cmd/jobprof/report/report_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/report/report_inputs.h"
#include "view/report/report_jobs.h"

bool report_jobs__are_several(const struct job_input *inputs, unsigned n)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t job = report_inputs__job(inputs[i].path);

		if (job && first && job != first)
			return true;
		first = job ? job : first;
	}
	return false;
}

/* An input, and its job by its name; 0: that does not say. */
struct file {
	const struct job_input *input;
	uint32_t job;
	bool done;
};

/* A row that is added. */
struct adding {
	struct report_jobs *jobs;
	const struct file *file;
};

static int add_job(const struct report *r, void *ctx)
{
	const struct adding *a = ctx;
	char id[16] = "";

	if (a->file->job)
		snprintf(id, sizeof(id), "%u", a->file->job);
	return report_jobs__add(a->jobs, r, a->file->input->path, id) ? 1 : 0;
}

/* The inputs of the job that v[at] is of, into group[n]. */
static unsigned take_job(struct file *v, unsigned n, unsigned at, struct job_input *group)
{
	unsigned taken = 0;

	for (unsigned i = at; i < n; i++) {
		if (v[i].done || (i > at && (!v[at].job || v[i].job != v[at].job)))
			continue;
		v[i].done = true;
		group[taken++] = *v[i].input;
	}
	return taken;
}

/* 0, or the exit status; the table has what could be read. */
static int judge_all(struct report_jobs *jobs, const struct job_input *inputs, unsigned n,
		     const struct report_opts *o)
{
	struct file *files = calloc(n + 1, sizeof(*files));
	struct job_input *group = calloc(n + 1, sizeof(*group));
	int status = files && group ? 0 : 1;

	for (unsigned i = 0; !status && i < n; i++)
		files[i] = (struct file){&inputs[i], report_inputs__job(inputs[i].path), false};
	for (unsigned i = 0; files && group && i < n; i++) {
		unsigned size = files[i].done ? 0 : take_job(files, n, i, group);
		struct adding a = {jobs, &files[i]};
		int one = size ? report__judge(group, size, o, add_job, &a) : 0;

		if (one == REPORT_SEVERAL)
			log_error("%s: its name is that of files of another job", group[0].path);
		status = one ? 1 : status;
	}
	free(files);
	free(group);
	return status;
}

int report_jobs__files(const struct job_input *inputs, unsigned n, const struct report_opts *o,
		       FILE *out)
{
	struct report_jobs jobs = {.by = o->by ? o->by : 1u << REPORT_BY_USER};
	int status = judge_all(&jobs, inputs, n, o);
	json_t *json;

	report_jobs__sort(&jobs);
	json = report_jobs__json(&jobs);
	if (!json)
		status = 1;
	else if (o->form != REPORT_JSON && jobs.n)
		report_jobs__print(json, o->all, out);
	else if (o->form == REPORT_JSON &&
		 (json_dumpf(json, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
		  putc('\n', out) == EOF))
		status = 1;
	json_decref(json);
	report_jobs__free(&jobs);
	return status;
}

int report_jobs__parse_by(const char *list, unsigned *by)
{
	*by = 0;
	for (const char *word = list; word; word = strchr(word, ',')) {
		size_t len;
		int i;

		word += *word == ',';
		len = strcspn(word, ",");
		for (i = 0; i < REPORT_BYS; i++)
			if (strlen(report_by_names[i]) == len &&
			    !strncmp(report_by_names[i], word, len))
				break;
		if (i == REPORT_BYS) {
			log_error("--by %s: the words are user, account, partition and name", list);
			return 2;
		}
		*by |= 1u << i;
	}
	return 0;
}
