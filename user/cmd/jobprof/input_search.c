/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds profiles by their names, and those whose names say nothing by what they say themselves. */
#include "cmd/jobprof/input_search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "jobfile/merge/merge_name.h"
#include "model/meant.h"
#include "pool/pool.h"

/* A file of the directory, and what its reader said of it. */
struct candidate {
	char name[NAME_MAX + 1];
	uint32_t job;  /* 0: it is not of the job, or does not say */
	bool is_meant; /* of these jobs */
};

struct search {
	const struct jobspec *specs; /* of one job; nspecs 0: any profile is meant */
	unsigned nspecs;
	const char *dir;
	unsigned at, n;
	struct candidate v[];
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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

bool input_search__is_job_file(const char *path)
{
	return job_of_job_file(name_of(path));
}

uint32_t input_search__job(const char *path)
{
	struct merge_name m;

	if (merge_name__parse(name_of(path), &m) == NAME_FILE)
		return m.job;
	return job_of_job_file(name_of(path));
}

static bool is_meant(const char *name, const struct jobspec *specs, unsigned n)
{
	uint32_t job = input_search__job(name);
	struct merge_name m;
	bool any = job_of_job_file(name);

	if (!n || !job)
		return job;
	if (!any)
		merge_name__parse(name, &m);
	for (unsigned i = 0; i < n; i++)
		if (specs[i].kind == JOBSPEC_JOB && specs[i].job == job &&
		    (any || jobspec__has_step(&specs[i], m.step)))
			return true;
	return false;
}

char *input_search__path(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int add_path(struct string_list *l, const char *dir, const char *name)
{
	return string_list__take(l, input_search__path(dir, name));
}

/* Runs before a requeue have names of their own. */
static bool is_candidate(const char *name)
{
	size_t len = strlen(name);
	const char *restart = strstr(name, ".restart");

	return len > 3 && len <= NAME_MAX && *name != '.' && !strcmp(name + len - 3, ".h5") &&
	       !(restart && strspn(restart + 8, "0123456789") == strlen(restart + 8) - 3);
}

bool input_search__is_usual(const char *name)
{
	return is_candidate(name) && str__starts(name, "job_");
}

bool input_search__is_unusual(const char *name)
{
	return is_candidate(name) && !str__starts(name, "job_");
}

static bool says_no_job(const char *name)
{
	return is_candidate(name) && !input_search__job(name);
}

static int ask_candidates(void *arg)
{
	struct search *s = arg;

	for (; s->at < s->n; s->at++) {
		_cleanup_free_ char *path = input_search__path(s->dir, s->v[s->at].name);
		struct candidate *c = &s->v[s->at];

		if (path && s->nspecs)
			c->job = meant__job(path, s->specs, s->nspecs);
		c->is_meant = path && (s->nspecs ? c->job > 0 : meant__profile(path));
	}
	return 0;
}

static unsigned count_files(DIR *dir)
{
	unsigned n = 0;

	while (readdir(dir))
		n++;
	rewinddir(dir);
	return n;
}

static int by_candidate(const void *a, const void *b)
{
	return strverscmp(((const struct candidate *)a)->name, ((const struct candidate *)b)->name);
}

static size_t search_size(unsigned n)
{
	return sizeof(struct search) + n * sizeof(struct candidate);
}

int input_search__ask(const char *where, bool (*is_asked)(const char *name),
		      const struct jobspec *specs, unsigned n,
		      int (*add)(void *ctx, char *path, uint32_t job), void *ctx)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	unsigned room = dir ? count_files(dir) : 0, nasked;
	struct search *s = pool__share(search_size(room));
	struct dirent *e;
	int err = 0;

	if (!s)
		return -ENOMEM;
	*s = (struct search){.specs = specs, .nspecs = n, .dir = where};
	while (dir && s->n < room && (e = readdir(dir)))
		if (is_asked(e->d_name))
			snprintf(s->v[s->n++].name, NAME_MAX + 1, "%s", e->d_name);
	nasked = s->n; /* the child may write anything there */
	qsort(s->v, nasked, sizeof(*s->v), by_candidate);
	while (s->at < nasked && (err = pool__try(ask_candidates, s, &POOL_STREAM))) {
		if (err == -EINTR)
			pool__follow_signal();
		s->at++;
	}
	err = 0;
	for (unsigned i = 0; !err && i < nasked; i++) {
		s->v[i].name[NAME_MAX] = 0;
		if (s->v[i].is_meant)
			err = add(ctx, input_search__path(where, s->v[i].name), s->v[i].job);
	}
	pool__unshare(s, search_size(room));
	return err;
}

static int add_asked(void *ctx, char *path, uint32_t job)
{
	(void)job;
	return string_list__take(ctx, path);
}

bool input_search__is_dir(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_dir(const char *path, const struct dirent *e)
{
	if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
		return e->d_type == DT_DIR;
	return input_search__is_dir(path);
}

int input_search__dirs(struct string_list *dirs, const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	int err = string_list__append(dirs, dir);
	unsigned first = dirs->n;
	struct dirent *e;

	while (!err && d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		err = add_path(dirs, dir, e->d_name);
		if (!err && !is_dir(dirs->v[dirs->n - 1], e))
			free(dirs->v[--dirs->n]);
	}
	string_list__sort(dirs, first);
	return err;
}

static int add_dir(struct string_list *files, const char *dir, const struct jobspec *specs,
		   unsigned n)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d)))
		if (is_meant(e->d_name, specs, n))
			err = add_path(files, dir, e->d_name);
	return err || n ? err : input_search__ask(dir, says_no_job, NULL, 0, add_asked, files);
}

/* By job and directory, the job file of each before its node-step files. */
static int by_job(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	uint32_t jx = input_search__job(x), jy = input_search__job(y);
	size_t nx = (size_t)(name_of(x) - x), ny = (size_t)(name_of(y) - y);
	int order;

	if (jx != jy)
		return jx < jy ? -1 : 1;
	order = strncmp(x, y, nx < ny ? nx : ny);
	if (order || nx != ny)
		return order ? order : nx < ny ? -1 : 1;
	return input_search__is_job_file(y) - input_search__is_job_file(x);
}

static bool is_beside(const char *path, const char *other)
{
	size_t n = (size_t)(name_of(path) - path);

	return n == (size_t)(name_of(other) - other) && !strncmp(path, other, n);
}

/* dir itself sorts before what is below it. */
static void keep_job_files(struct string_list *files, size_t dir_len)
{
	const char *job_file = NULL;
	unsigned n = 0;

	if (files->n)
		qsort(files->v, files->n, sizeof(*files->v), by_job);
	for (unsigned i = 0; i < files->n; i++) {
		char *path = files->v[i];
		bool of_it = job_file && input_search__job(job_file) == input_search__job(path) &&
			     (is_beside(job_file, path) ||
			      (size_t)(name_of(job_file) - job_file) == dir_len + 1);

		if (!input_search__is_job_file(path) && of_it) {
			free(path);
			continue;
		}
		if (input_search__is_job_file(path) && !of_it)
			job_file = path;
		files->v[n++] = path;
	}
	files->n = n;
}

int input_search__files(struct string_list *files, const char *dir, const struct jobspec *specs,
			unsigned n)
{
	struct string_list dirs = {0}, found = {0};
	int err = input_search__dirs(&dirs, dir);

	for (unsigned i = 0; !err && i < dirs.n && !(n && found.n && i == 1); i++)
		err = add_dir(&found, dirs.v[i], specs, n);
	if (!err)
		keep_job_files(&found, strlen(dir));
	string_list__sort(&found, 0);
	for (unsigned i = 0; !err && i < found.n; i++)
		err = string_list__append(files, found.v[i]);
	string_list__free(&found);
	string_list__free(&dirs);
	return err;
}
