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
#include "cmd/jobprof/select_args.h"
#include "model/meant.h"
#include "pool/pool.h"

/* A file of the directory, and what its reader said of it. */
struct candidate {
	char name[NAME_MAX + 1];
	uint32_t job; /* 0: it is not of the job */
};

struct search {
	const struct jobspec *spec;
	const char *dir;
	unsigned at, n;
	struct candidate v[];
};

/* Runs before a requeue have names of their own. */
static bool is_candidate(const char *name, bool usual)
{
	size_t len = strlen(name);
	const char *restart = strstr(name, ".restart");

	return len > 3 && len <= NAME_MAX && *name != '.' && !strcmp(name + len - 3, ".h5") &&
	       str__starts(name, "job_") == usual &&
	       !(restart && strspn(restart + 8, "0123456789") == strlen(restart + 8) - 3);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct candidate *)a)->name, ((const struct candidate *)b)->name);
}

static char *path_in(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int ask_candidates(void *arg)
{
	struct search *s = arg;

	for (; s->at < s->n; s->at++) {
		_cleanup_free_ char *path = path_in(s->dir, s->v[s->at].name);

		s->v[s->at].job = path ? meant__job(path, s->spec) : 0;
	}
	return 0;
}

static size_t search_size(unsigned n)
{
	return sizeof(struct search) + n * sizeof(struct candidate);
}

static void search_free(struct search *s, unsigned room)
{
	if (s)
		pool__unshare(s, search_size(room));
}

static unsigned count_files(DIR *dir)
{
	unsigned n = 0;

	while (readdir(dir))
		n++;
	rewinddir(dir);
	return n;
}

/* Files are read in a child, since they may be damaged; a file that kills the child is not of the
 * job. */
static struct search *find_job_files(const struct jobspec *spec, const char *where, bool usual,
				     unsigned *room)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	struct search *s;
	struct dirent *e;
	int err;

	*room = dir ? count_files(dir) : 0;
	s = pool__share(search_size(*room));
	if (!s)
		return NULL;
	s->spec = spec;
	s->dir = where;
	while (dir && s->n < *room && (e = readdir(dir)))
		if (is_candidate(e->d_name, usual))
			snprintf(s->v[s->n++].name, NAME_MAX + 1, "%s", e->d_name);
	qsort(s->v, s->n, sizeof(*s->v), by_name);
	while (s->at < s->n && (err = pool__try(ask_candidates, s, &POOL_STREAM))) {
		if (err == -EINTR)
			pool__follow_signal();
		s->at++;
	}
	return s;
}

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

/* merge's own names first; under another one only if there are none. */
static int find_files(struct input_files *f, const struct jobspec *spec, const char *dir)
{
	int err = 0;

	for (int usual = 1; !err && usual >= 0 && !f->n; usual--) {
		unsigned room;
		struct search *s = find_job_files(spec, dir, usual, &room);

		err = s ? 0 : -ENOMEM;
		for (unsigned i = 0; !err && i < s->n; i++)
			if (s->v[i].job)
				err = add_file(f, path_in(dir, s->v[i].name), s->v[i].job);
		search_free(s, room);
	}
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
		n += is_candidate(e->d_name, true);
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

/* Finds job_<id>.h5, unless the id is that of an array's task or the file does not exist. */
static int find_meant(struct input_files *f, const struct jobspec *spec, const char *dir, bool raw)
{
	char name[32];
	_cleanup_free_ char *path = NULL;
	int err = 0;

	snprintf(name, sizeof(name), "job_%" PRIu32 ".h5", spec->job);
	path = path_in(dir, name);
	if (!path)
		return -ENOMEM;
	if (spec->kind != JOBSPEC_JOB || (!raw && !is_the_only(path, dir, spec)))
		err = find_files(f, spec, dir);
	if (!err && !f->n && spec->kind == JOBSPEC_JOB)
		err = add_file(f, path_in(dir, name), spec->job);
	return err || f->n ? err : -ENOENT;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int find_all(struct input_files *out, const struct jobspec *specs, unsigned n,
		    const char *input, bool raw)
{
	int err;

	*out = (struct input_files){0};
	if (!input || is_dir(input))
		err = find_meant(out, specs, input ? input : ".", raw);
	else
		err = add_file(out, strdup(input), specs->job);
	for (unsigned i = 0; !err && i < out->n; i++)
		err = note_steps(&out->v[i], specs, n);
	if (err)
		input_files__free(out);
	return err;
}

int input_files__of(struct input_files *out, const struct jobspec *specs, unsigned n,
		    const char *input)
{
	return find_all(out, specs, n, input, false);
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
	struct input_files all;
	int err = find_all(&all, specs, n, input, true);

	*out = (struct input_file){0};
	if (!err)
		take_first(out, &all);
	return err;
}

void input_file__log_none(const struct jobspec *spec)
{
	log_error("%s: no job file here says that it is of it; name the file, or its directory",
		  spec->text);
}

static int of_specs(struct input_file *out, const struct jobspec *specs, unsigned n,
		    const char *input)
{
	struct input_files all;
	int err;

	for (unsigned i = 1; i < n; i++) {
		if (jobspec__same_job(&specs[0], &specs[i]))
			continue;
		log_error("-j: %s and %s are two jobs; one at a time", specs[0].text,
			  specs[i].text);
		return 2;
	}
	err = input_files__of(&all, specs, n, input);
	if (err == -ENOENT)
		input_file__log_none(specs);
	else if (err)
		log_error("%s", strerror(-err));
	if (err)
		return 1;
	if (all.n > 1) {
		log_error("-j %s means %u files: %s, %s%s; name one of them", specs->text, all.n,
			  all.v[0].path, all.v[1].path, all.n > 2 ? " ..." : "");
		input_files__free(&all);
		return 1;
	}
	take_first(out, &all);
	return 0;
}

/* Finds the only profile in a directory, where no job is named. */
static int only_file(struct input_file *out, const char *where)
{
	_cleanup_closedir_ DIR *dir = opendir(where);
	char name[NAME_MAX + 1] = "";
	const struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir)))
		if (is_candidate(e->d_name, true) || is_candidate(e->d_name, false))
			if (!n++)
				snprintf(name, sizeof(name), "%s", e->d_name);
	if (n == 1)
		out->path = path_in(where, name);
	if (n == 1 && out->path)
		return 0;
	if (!dir)
		log_error("%s: %s", where, strerror(errno));
	else
		log_error("%s: it has %u profiles; name one of them, or a job with -j", where, n);
	return 1;
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
		if ((!is_candidate(e->d_name, true) && !is_candidate(e->d_name, false)) ||
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
	_cleanup_free_ struct jobspec *specs = NULL;
	unsigned n = 0;
	int status;

	*out = (struct input_file){0};
	if (!jobs && !input)
		return newest_file(out);
	if (!jobs && is_dir(input))
		return only_file(out, input);
	if (!jobs) {
		out->path = strdup(input);
		return out->path ? 0 : 1;
	}
	status = select_args__jobs(&specs, &n, jobs);
	return status ? status : of_specs(out, specs, n, input);
}

void input_file__free(struct input_file *f)
{
	free(f->path);
	free(f->steps);
	free(f->texts);
	*f = (struct input_file){0};
}
