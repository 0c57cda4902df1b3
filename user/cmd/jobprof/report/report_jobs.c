/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprof report on files of several jobs: each job is judged, and is a line of a table. */
#include "cmd/jobprof/report/report_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/jobprof/input_search.h"
#include "view/report/report_jobs.h"

bool report_jobs__are_several(const struct job_input *inputs, unsigned n)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t job = input_search__job(inputs[i].path);

		if (job && first && job != first)
			return true;
		first = job ? job : first;
	}
	return false;
}

/* What is judged: the table, and the inputs of one job after another. */
struct judging {
	struct report_jobs *jobs;
	const struct report_opts *o;
	struct job_input *left, *group; /* left: not yet judged */
	unsigned nleft;
};

/* A row that is added. */
struct adding {
	struct report_jobs *jobs;
	const char *path;
};

static int add_job(const struct report *r, void *ctx)
{
	const struct adding *a = ctx;
	uint32_t job = input_search__job(a->path);
	char id[16] = "";

	if (job)
		snprintf(id, sizeof(id), "%u", job);
	return report_jobs__add(a->jobs, r, a->path, id) ? 1 : 0;
}

static size_t dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool is_beside(const char *a, const char *b)
{
	size_t n = dir_length(a);

	return n == dir_length(b) && !strncmp(a, b, n);
}

/* Moves the inputs of the job of left[0] to group: those whose names say so, with `beside` only
 * those of its directory; alone where its name does not say. Returns how many. */
static unsigned take_job(struct judging *w, bool beside)
{
	const struct job_input first = w->left[0];
	uint32_t job = input_search__job(first.path);
	unsigned n = 0, left = 0;

	for (unsigned i = 0; i < w->nleft; i++) {
		const struct job_input in = w->left[i];
		bool same = !i || (job && input_search__job(in.path) == job &&
				   (!beside || is_beside(first.path, in.path)));

		if (same)
			w->group[n++] = in;
		else
			w->left[left++] = in;
	}
	w->nleft = left;
	return n;
}

/* Puts back what was taken. */
static void leave_job(struct judging *w, unsigned n)
{
	memmove(w->left + n, w->left, w->nleft * sizeof(*w->left));
	memcpy(w->left, w->group, n * sizeof(*w->group));
	w->nleft += n;
}

static int judge_group(struct judging *w, unsigned n)
{
	struct adding a = {w->jobs, w->group[0].path};

	return report__judge(w->group, n, w->o, add_job, &a);
}

/* The next job. Two of one id, as of two clusters, are told apart by what the files say, and are in
 * directories of their own. 0 or the exit status. */
static int judge_next(struct judging *w)
{
	unsigned n = take_job(w, false);
	int status = judge_group(w, n);

	if (status == REPORT_SEVERAL) {
		leave_job(w, n);
		n = take_job(w, true);
		status = judge_group(w, n);
	}
	if (status == REPORT_SEVERAL)
		log_error("%s: its name is that of files of another job", w->group[0].path);
	return status ? 1 : 0;
}

/* 0, or the exit status; the table has what could be read. */
static int judge_all(struct report_jobs *jobs, const struct job_input *inputs, unsigned n,
		     const struct report_opts *o)
{
	struct judging w = {.jobs = jobs, .o = o, .nleft = n};
	int status = 0;

	w.left = calloc(n + 1, sizeof(*w.left));
	w.group = calloc(n + 1, sizeof(*w.group));
	if (w.left && w.group)
		memcpy(w.left, inputs, n * sizeof(*inputs));
	else
		status = 1;
	while (w.left && w.group && w.nleft)
		status |= judge_next(&w);
	free(w.left);
	free(w.group);
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
		 (json_dumpf(json, out,
			     JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENSURE_ASCII) ||
		  putc('\n', out) == EOF))
		status = 1;
	json_decref(json);
	report_jobs__free(&jobs);
	return status;
}

int report_jobs__parse_by(void *to, const struct opt *o, const char *list)
{
	unsigned *by = to;

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
