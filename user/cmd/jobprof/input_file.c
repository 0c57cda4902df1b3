/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the profile that -j, FILE or DIR means. */
#include "cmd/jobprof/input_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/jobprof/input_search.h"
#include "cmd/jobprof/profile_dir.h"
#include "cmd/jobprof/select_args.h"
#include "model/meant.h"
#include "pool/pool.h"

/* Takes path, which may be NULL: no memory. */
static int add_file(struct input_files *f, char *path, uint32_t job)
{
	struct input_file *v = path ? realloc(f->v, (f->n + 1) * sizeof(*v)) : NULL;

	if (!v) {
		free(path);
		return -ENOMEM;
	}
	f->v = v;
	v[f->n++] = (struct input_file){.path = path, .job = job};
	return 0;
}

static int add_asked(void *ctx, char *path, uint32_t job)
{
	return add_file(ctx, path, job);
}

/* What files say of themselves: merge's own names first; others only if there are none. */
static int find_files(struct input_files *f, const struct jobspec *specs, unsigned nspecs,
		      const char *dir)
{
	int err = input_search__ask(dir, input_search__is_usual, specs, nspecs, add_asked, f);

	if (!err && !f->n)
		err = input_search__ask(dir, input_search__is_unusual, specs, nspecs, add_asked, f);
	return err;
}

/* Those whose names say that they are of the job, here and below. */
static int find_named(struct input_files *f, const struct jobspec *specs, unsigned n,
		      const char *dir)
{
	struct string_list found = {0};
	int err = input_search__files(&found, dir, specs, n);

	for (unsigned i = 0; !err && i < found.n; i++)
		err = add_file(f, strdup(found.v[i]), specs->job);
	string_list__free(&found);
	return err;
}

/* Of an array's task, a component or a SLUID only the files say it. */
static int find_below(struct input_files *f, const struct jobspec *specs, unsigned n,
		      const char *dir)
{
	struct string_list dirs = {0};
	int err = input_search__dirs(&dirs, dir);

	for (unsigned i = 0; !err && i < dirs.n; i++)
		err = find_files(f, specs, n, dirs.v[i]);
	string_list__free(&dirs);
	return err;
}

static int note_steps(struct input_file *f, const struct jobspec *specs, unsigned n)
{
	f->texts = calloc(n, sizeof(*f->texts));
	f->steps = calloc(n, sizeof(*f->steps));
	if (!f->texts || !f->steps)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		if (specs[i].any_step) {
			f->nsteps = 0;
			return 0;
		}
		snprintf(f->texts[i], sizeof(*f->texts), "%" PRIu32, specs[i].step);
		f->steps[f->nsteps++] = f->texts[i];
	}
	return 0;
}

static bool others_in(const char *where)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	const struct dirent *e;
	unsigned n = 0;

	while (dir && n < 2 && (e = readdir(dir)))
		n += input_search__is_usual(e->d_name);
	return n > 1;
}

struct question {
	const char *path;
	const struct jobspec *spec;
};

/* Runs in a limited child. */
static int is_of_array(void *arg)
{
	const struct question *q = arg;

	return meant__part(q->path, q->spec);
}

/* Whether the file of that name is there, and is not of an array. */
static bool is_the_only(const char *path, const char *dir, const struct jobspec *spec)
{
	struct question q = {path, spec};

	return !access(path, F_OK) &&
	       (!others_in(dir) || pool__call(is_of_array, &q, &POOL_STREAM) != 1);
}

static char *job_file_in(const char *dir, const struct jobspec *spec)
{
	char name[32];

	snprintf(name, sizeof(name), "job_%" PRIu32 ".h5", spec->job);
	return input_search__path(dir, name);
}

/* Finds job_<id>.h5, unless the id is that of an array's task; then by other names and places. */
static int find_meant(struct input_files *f, const struct jobspec *specs, unsigned n,
		      const char *dir)
{
	_cleanup_free_ char *path = job_file_in(dir, specs);
	int err = path ? 0 : -ENOMEM;

	if (!err && specs->kind != JOBSPEC_JOB)
		return find_below(f, specs, n, dir);
	if (!err && is_the_only(path, dir, specs))
		return add_file(f, strdup(path), specs->job);
	if (!err && !access(path, F_OK))
		err = find_files(f, specs, n, dir);
	if (!err && !f->n)
		err = find_named(f, specs, n, dir);
	if (!err && !f->n)
		err = find_files(f, specs, n, dir);
	return err;
}

/* Where it was looked for is the site's directory, if nothing was named and it has one. */
static int find_anywhere(struct input_files *f, const struct jobspec *specs, unsigned n,
			 const char *input, char **site)
{
	int err = find_meant(f, specs, n, input ? input : ".");

	if (!err && !f->n && !input && !profile_dir__ask(site))
		err = find_meant(f, specs, n, *site);
	return err;
}

static bool is_node_step(const struct input_file *f)
{
	return input_search__job(f->path) && !input_search__is_job_file(f->path);
}

/* The name of a node-step file has its step. */
static int note_all_steps(struct input_files *f, const struct jobspec *specs, unsigned n)
{
	int err = 0;

	for (unsigned i = 0; !err && i < f->n; i++)
		if (!is_node_step(&f->v[i]))
			err = note_steps(&f->v[i], specs, n);
	return err;
}

struct other_job {
	struct question q;
	uint32_t job; /* of parent and child */
};

static int ask_other(void *arg)
{
	struct other_job *o = arg;

	o->job = meant__other(o->q.path, o->q.spec);
	return 0;
}

/* 0; -EXDEV: the file is of another job, which it has said. */
static int take_file(struct input_files *f, const char *path, const struct jobspec *spec)
{
	struct other_job *o = pool__share(sizeof(*o));
	uint32_t other;

	if (!o)
		return -ENOMEM;
	o->q = (struct question){path, spec};
	(void)pool__call(ask_other, o, &POOL_STREAM);
	other = o->job;
	pool__unshare(o, sizeof(*o));
	if (!other)
		return add_file(f, strdup(path), spec->job);
	log_error("%s is of job %" PRIu32 ", not of %s", path, other, spec->text);
	return -EXDEV;
}

int input_files__of(struct input_files *out, const struct jobspec *specs, unsigned n,
		    const char *input)
{
	bool search = !input || input_search__is_dir(input);
	_cleanup_free_ char *site = NULL;
	int err;

	*out = (struct input_files){0};
	err = search ? find_anywhere(out, specs, n, input, &site) : take_file(out, input, specs);
	if (!err && !out->n)
		err = -ENOENT;
	if (!err)
		err = note_all_steps(out, specs, n);
	if (err == -ENOENT)
		log_error("-j %s: there is no profile of it in %s%s%s, nor in the directories "
			  "below",
			  specs->text, input ? input : "this directory", site ? " or " : "",
			  site ? site : "");
	else if (err && err != -EXDEV)
		log_error("%s: %s", specs->text, strerror(-err));
	if (err)
		input_files__free(out);
	return err;
}

void input_files__free(struct input_files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		input_file__free(&f->v[i]);
	free(f->v);
	*f = (struct input_files){0};
}

/* The first of them; the others are freed. */
static void take_first(struct input_file *out, struct input_files *f)
{
	*out = f->v[0];
	f->v[0] = (struct input_file){0};
	input_files__free(f);
}

int input_file__of(struct input_file *out, const struct jobspec *specs, unsigned n,
		   const char *input)
{
	bool is_file = input && !input_search__is_dir(input);
	const char *dir = input ? input : ".";
	struct input_files all = {0};
	int err;

	*out = (struct input_file){0};
	if (is_file)
		err = add_file(&all, strdup(input), specs->job);
	else if (specs->kind == JOBSPEC_JOB)
		err = add_file(&all, job_file_in(dir, specs), specs->job);
	else
		err = find_files(&all, specs, n, dir);
	if (!err)
		err = all.n ? note_steps(all.v, specs, n) : -ENOENT;
	if (!err)
		take_first(out, &all);
	input_files__free(&all);
	return err;
}

bool input_files__are_parts(const struct input_files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!is_node_step(&f->v[i]))
			return false;
	return f->n > 0;
}

int input_files__parse(struct input_files *out, const char *jobs, const char *input)
{
	_cleanup_free_ struct jobspec *specs = NULL;
	unsigned n = 0;
	int status = select_args__jobs(&specs, &n, jobs);

	*out = (struct input_files){0};
	for (unsigned i = 1; !status && i < n; i++) {
		if (jobspec__same_job(&specs[0], &specs[i]))
			continue;
		log_error("-j: %s and %s are two jobs; one at a time", specs[0].text,
			  specs[i].text);
		status = 2;
	}
	if (!status && input_files__of(out, specs, n, input))
		status = 1;
	return status;
}

int input_files__refuse(const struct input_files *f, const char *jobs, bool to_dir)
{
	log_error("-j %s means %u files: %s, %s%s; name one of them%s%s", jobs, f->n, f->v[0].path,
		  f->v[1].path, f->n > 2 ? " ..." : "",
		  input_files__are_parts(f) ? ", or jobprof merge makes one job file of them" : "",
		  to_dir ? ", or -o DIR gets a file of each" : "");
	return 1;
}

/* The only profile in a directory and below it, where no job is named. */
static int only_file(struct input_file *out, const char *where)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	struct string_list found = {0};
	int err = dir ? input_search__files(&found, where, NULL, 0) : -errno;

	if (!err && found.n == 1)
		out->path = strdup(found.v[0]);
	if (err)
		log_error("%s: %s", where, strerror(-err));
	else if (found.n != 1)
		log_error("%s: it has %u profiles; name one of them, or a job with -j", where,
			  found.n);
	string_list__free(&found);
	return out->path ? 0 : 1;
}

/* Finds the profile that was written last in the working directory. */
static int newest_file(struct input_file *out)
{
	_cleanup_closedir_ DIR *dir = opendir(".");
	char name[NAME_MAX + 1] = "";
	struct timespec newest = {};
	const struct dirent *e;
	struct stat st;
	unsigned n = 0;

	while (dir && (e = readdir(dir))) {
		if ((!input_search__is_usual(e->d_name) && !input_search__is_unusual(e->d_name)) ||
		    fstatat(dirfd(dir), e->d_name, &st, 0))
			continue;
		if (!n++ || st.st_mtim.tv_sec > newest.tv_sec ||
		    (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec > newest.tv_nsec)) {
			newest = st.st_mtim;
			snprintf(name, sizeof(name), "%s", e->d_name);
		}
	}
	if (!n) {
		log_error("which profile: there is none here: FILE, DIR with only one in it, "
			  "or -j JOB");
		return 2;
	}
	out->path = strdup(name);
	if (n > 1)
		log_warn("%s, the newest of %u profiles here", name, n);
	return out->path ? 0 : 1;
}

int input_file__choose(struct input_file *out, const char *jobs, const char *input)
{
	struct input_files all = {0};
	int status;

	*out = (struct input_file){0};
	if (!jobs && !input)
		return newest_file(out);
	if (!jobs && input_search__is_dir(input))
		return only_file(out, input);
	if (!jobs) {
		out->path = strdup(input);
		return out->path ? 0 : 1;
	}
	status = input_files__parse(&all, jobs, input);
	if (!status && all.n > 1)
		status = input_files__refuse(&all, jobs, false);
	if (!status)
		take_first(out, &all);
	input_files__free(&all);
	return status;
}

void input_file__free(struct input_file *f)
{
	free(f->path);
	free(f->steps);
	free(f->texts);
	*f = (struct input_file){0};
}
