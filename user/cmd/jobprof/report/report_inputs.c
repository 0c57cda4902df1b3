/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the files of a report. */
#include "cmd/jobprof/report/report_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "jobfile/merge/merge_name.h"

struct search {
	struct report_inputs *in;
	const struct jobspec *specs; /* of one job; nspecs 0: any job */
	unsigned nspecs;
};

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The id in the name job_<id>.h5; 0: it is no such name. */
static uint32_t job_of_job_file(const char *name)
{
	size_t len = strlen(name);
	char digits[16] = "";
	uint32_t job;

	if (!str__starts(name, "job_") || len < 8 || len > 18 || strcmp(name + len - 3, ".h5"))
		return 0;
	memcpy(digits, name + 4, len - 7);
	return parse_u32(digits, &job) ? 0 : job;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

uint32_t report_inputs__job(const char *path)
{
	struct merge_name m;

	if (merge_name__parse(name_of(path), &m) == NAME_FILE)
		return m.job;
	return job_of_job_file(name_of(path));
}

static bool is_meant(const struct search *s, const char *name)
{
	struct merge_name m;

	if (!s->nspecs && job_of_job_file(name))
		return true;
	if (merge_name__parse(name, &m) != NAME_FILE)
		return false;
	for (unsigned i = 0; i < s->nspecs; i++)
		if (s->specs[i].kind == JOBSPEC_JOB && s->specs[i].job == m.job &&
		    jobspec__has_step(&s->specs[i], m.step))
			return true;
	return !s->nspecs;
}

static int add_path(struct report_inputs *in, const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? -ENOMEM
						       : string_list__take(&in->paths, path);
}

/* The files in a directory that are meant, and with `deeper` in the directories below it. */
static int search_dir(struct search *s, const char *where, bool deeper)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	struct dirent *e;
	int err = 0;

	while (!err && dir && (e = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (is_meant(s, e->d_name)) {
			err = add_path(s->in, where, e->d_name);
			continue;
		}
		if (!deeper || *e->d_name == '.')
			continue;
		if (asprintf(&path, "%s/%s", where, e->d_name) < 0) {
			path = NULL;
			err = -ENOMEM;
		} else if (is_dir(path)) {
			err = search_dir(s, path, false);
		}
	}
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool is_job_file(const char *path)
{
	return job_of_job_file(name_of(path));
}

/* By job, the job file of each first. */
static int by_job(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	uint32_t jx = report_inputs__job(x), jy = report_inputs__job(y);

	if (jx != jy)
		return jx < jy ? -1 : 1;
	return is_job_file(y) - is_job_file(x);
}

/* Keeps the job file of each job that has one; or, with prefer_nodes and files of one job only, the
 * node-step files, for a job file alone is found in another way. */
static void choose_paths(struct string_list *paths, bool prefer_nodes)
{
	unsigned n = 0;
	bool several, has_job_file = false;
	uint32_t job = 0;

	if (paths->n)
		qsort(paths->v, paths->n, sizeof(*paths->v), by_job);
	several = !prefer_nodes || (paths->n && report_inputs__job(paths->v[0]) !=
							report_inputs__job(paths->v[paths->n - 1]));
	for (unsigned i = 0; i < paths->n; i++) {
		char *path = paths->v[i];
		bool is_first = report_inputs__job(path) != job;

		job = report_inputs__job(path);
		has_job_file = is_first ? is_job_file(path) : has_job_file;
		if (several ? has_job_file && !is_job_file(path) : is_job_file(path))
			free(path);
		else
			paths->v[n++] = path;
	}
	paths->n = n;
}

static int use_paths(struct report_inputs *in, const struct string_list *nodes)
{
	in->v = calloc(in->paths.n, sizeof(*in->v));
	if (!in->v)
		return -ENOMEM;
	qsort(in->paths.v, in->paths.n, sizeof(*in->paths.v), by_name);
	for (; in->n < in->paths.n; in->n++)
		in->v[in->n] = (struct job_input){.path = in->paths.v[in->n], .nodes = nodes};
	return 0;
}

static int use_job_file(struct report_inputs *in, const char *jobs, const char *input,
			const struct string_list *nodes)
{
	int status = input_file__choose(&in->file, jobs, input);

	if (status)
		return status;
	in->v = calloc(1, sizeof(*in->v));
	if (!in->v)
		return 1;
	in->v[0] = (struct job_input){in->file.path, in->file.steps, in->file.nsteps, nodes};
	in->n = 1;
	return 0;
}

static bool has_job_file(const char *dir, const struct jobspec *specs, unsigned n)
{
	char name[64];
	_cleanup_free_ char *path = NULL;

	snprintf(name, sizeof(name), "job_%u.h5", n ? specs->job : 0);
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	return path && n && !access(path, F_OK);
}

static int search_files(struct report_inputs *in, const struct jobspec *specs, unsigned n,
			const char *input, const struct string_list *nodes)
{
	struct search s = {.in = in, .specs = specs, .nspecs = n};
	int err = search_dir(&s, input, true);

	if (!err)
		choose_paths(&in->paths, true);
	if (!err && in->paths.n)
		err = use_paths(in, nodes);
	if (err)
		log_error("%s: %s", input, strerror(-err));
	return err ? 1 : 0;
}

int report_inputs__of(struct report_inputs *in, const char *jobs, const char *input,
		      const struct string_list *nodes)
{
	_cleanup_free_ struct jobspec *specs = NULL;
	const char *dir = input ? input : ".";
	char reason[256];
	unsigned n = 0;
	int status = 0;

	*in = (struct report_inputs){0};
	if (!is_dir(dir))
		return use_job_file(in, jobs, input, nodes);
	/* What is wrong with -j is said where a job file is looked for. */
	if (jobs && jobspec__parse(&specs, &n, jobs, reason, sizeof(reason)))
		return use_job_file(in, jobs, input, nodes);
	if ((!jobs && input) || (n && specs->kind == JOBSPEC_JOB && !has_job_file(dir, specs, n)))
		status = search_files(in, specs, n, dir, nodes);
	return status || in->n ? status : use_job_file(in, jobs, input, nodes);
}

/* Appends the files in a directory: the job file of each job, or its node-step files. */
static int add_dir(struct report_inputs *in, const char *dir)
{
	struct report_inputs found = {0};
	struct search s = {.in = &found};
	int err = search_dir(&s, dir, true);

	if (!err)
		choose_paths(&found.paths, false);
	if (!err && !found.paths.n)
		err = -ENOENT;
	for (unsigned i = 0; !err && i < found.paths.n; i++)
		err = string_list__append(&in->paths, found.paths.v[i]);
	report_inputs__free(&found);
	return err;
}

int report_inputs__words(struct report_inputs *in, char *const *words, unsigned n,
			 const struct string_list *nodes)
{
	int err = 0;

	*in = (struct report_inputs){0};
	for (unsigned i = 0; !err && i < n; i++) {
		err = is_dir(words[i]) ? add_dir(in, words[i])
				       : string_list__append(&in->paths, words[i]);
		if (err == -ENOENT)
			log_error("%s: there is no profile in this directory", words[i]);
		else if (err)
			log_error("%s: %s", words[i], strerror(-err));
	}
	return err || use_paths(in, nodes) ? 1 : 0;
}

void report_inputs__free(struct report_inputs *in)
{
	string_list__free(&in->paths);
	free(in->v);
	input_file__free(&in->file);
	*in = (struct report_inputs){0};
}
