// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds files that may be profiles by their names, and reads what they are. */
#include "jobfile/profile_search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/room.h"
#include "base/str.h"
#include "hdf5/hdf5.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/select.h"
#include "pool/pool.h"

/* ---- names */

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

bool profile_name__is_job_file(const char *path)
{
	return job_of_job_file(name_of(path));
}

uint32_t profile_name__job(const char *path)
{
	struct merge_name m;

	if (merge_name__parse(name_of(path), &m) == NAME_FILE)
		return m.job;
	return job_of_job_file(name_of(path));
}

/* Whether a name that says its job says that of a spec, and a node-step file's name its step. */
static bool is_name_of(const char *name, const struct jobspec *specs, unsigned n)
{
	uint32_t job = profile_name__job(name);
	bool any_step = job_of_job_file(name);
	struct merge_name m;

	if (!n || !job)
		return job;
	if (!any_step)
		merge_name__parse(name, &m);
	for (unsigned i = 0; i < n; i++)
		if (specs[i].kind == JOBSPEC_JOB && specs[i].job == job &&
		    (any_step || jobspec__has_step(&specs[i], m.step)))
			return true;
	return false;
}

static bool is_candidate(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && len <= NAME_MAX && *name != '.' && !strcmp(name + len - 3, ".h5");
}

/* job_<id>.restart<n>.h5 */
static bool is_of_restart(const char *name)
{
	const char *restart = strstr(name, ".restart");

	return restart && strspn(restart + 8, "0123456789") == strlen(restart + 8) - 3;
}

static bool is_of_kind(const char *name, unsigned kinds, const struct jobspec *specs, unsigned n)
{
	if (kinds & PROFILE_NAME_JOB && is_name_of(name, specs, n))
		return true;
	if (!is_candidate(name))
		return false;
	if (is_of_restart(name))
		return kinds & PROFILE_NAME_RESTART;
	return kinds & (str__starts(name, "job_") ? PROFILE_NAME_USUAL : PROFILE_NAME_UNUSUAL);
}

/* ---- directories */

bool path__is_dir(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static char *path_in(const char *dir, const char *name)
{
	char *path;

	if (!strcmp(dir, "."))
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool is_dir(const char *path, const struct dirent *e)
{
	if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
		return e->d_type == DT_DIR;
	return path__is_dir(path);
}

int profile_search__dirs(struct string_list *dirs, const char *dir)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	int err = string_list__append(dirs, dir);
	unsigned first = dirs->n;
	struct dirent *e;

	while (!err && d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		err = string_list__take(dirs, path_in(dir, e->d_name));
		if (!err && !is_dir(dirs->v[dirs->n - 1], e))
			free(dirs->v[--dirs->n]);
	}
	string_list__sort(dirs, first);
	return err;
}

static int by_path(const void *a, const void *b)
{
	return strverscmp(((const struct profile_file *)a)->path,
			  ((const struct profile_file *)b)->path);
}

/* Takes the path. 0 or -ENOMEM. */
static int append(struct profile_files *f, char *path, bool named)
{
	if (!path || room__grow(&f->v, f->n, 1, sizeof(*f->v))) {
		free(path);
		return -ENOMEM;
	}
	f->v[f->n++] = (struct profile_file){.path = path, .named = named};
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes out files from `first` on that are among those before. 0 or -ENOMEM. */
static int drop_known(struct profile_files *f, unsigned first)
{
	const char **known = calloc(first, sizeof(*known));
	unsigned n = first;

	if (!known)
		return -ENOMEM;
	for (unsigned i = 0; i < first; i++)
		known[i] = f->v[i].path;
	qsort(known, first, sizeof(*known), compare);
	for (unsigned i = first; i < f->n; i++) {
		if (bsearch(&f->v[i].path, known, first, sizeof(*known), compare))
			free(f->v[i].path);
		else
			f->v[n++] = f->v[i];
	}
	f->n = n;
	free(known);
	return 0;
}

/* A directory has no name twice, and may have very many. */
int profile_search__files(struct profile_files *f, const char *dir, unsigned kinds,
			  const struct jobspec *specs, unsigned n)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	unsigned first = f->n;
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d)))
		if (is_of_kind(e->d_name, kinds, specs, n))
			err = append(f, path_in(dir, e->d_name), false);
	if (!err && first && f->n > first)
		err = drop_known(f, first);
	if (f->n > first)
		qsort(f->v + first, f->n - first, sizeof(*f->v), by_path);
	return err;
}

/* ---- files */

int profile_files__add(struct profile_files *f, char *path, bool named)
{
	for (unsigned i = 0; path && i < f->n; i++)
		if (!strcmp(f->v[i].path, path)) {
			free(path);
			return 0;
		}
	return append(f, path, named);
}

void profile_files__keep(struct profile_files *f, unsigned from, bool meant)
{
	unsigned n = from;

	for (unsigned i = from; i < f->n; i++) {
		const struct profile_file *file = &f->v[i];
		bool stays = meant ? file->says.is_meant
				   : file->says.is_profile || profile_name__job(file->path);

		if (stays)
			f->v[n++] = *file;
		else
			free(file->path);
	}
	f->n = n;
}

void profile_files__free(struct profile_files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
	*f = (struct profile_files){0};
}

/* ---- what they say */

static void put_text(const struct reader_node *n, const char *name, char *to, size_t size)
{
	const char *text = node__str(n, name);

	snprintf(to, size, "%s", text ? text : "");
}

static double number_of(const struct reader_node *n, const char *name)
{
	double v;

	return node__number(n, name, &v) ? v : NAN;
}

static void take_attributes(struct profile_says *s, const struct reader_node *n)
{
	put_text(n, "Cluster", s->cluster, sizeof(s->cluster));
	put_text(n, "SLUID", s->sluid, sizeof(s->sluid));
	snprintf(s->step, sizeof(s->step), "%s", n->step);
	snprintf(s->node, sizeof(s->node), "%s", n->name);
	s->uid = number_of(n, "UID");
	s->restart = number_of(n, "Restart Count");
	s->job_start = number_of(n, "Job Start EpochTime");
	s->start_ns = number_of(n, "Start TimeNS");
	/* Slurm names no count in the first run: what else of its environment is there tells. That
	 * of an extern step has it in no run. */
	if (isnan(s->restart) && strcmp(stepname__human(s->step), "extern") &&
	    (node__attr(n, "Job Name") || node__attr(n, "Partition")))
		s->restart = 0;
}

/* A job file has steps that are chosen later, a node-step file is of one. */
static void compare_specs(struct profile_says *s, const struct reader *r,
			  const struct reader_node *n, const struct jobspec *specs, unsigned nspecs)
{
	for (unsigned i = 0; i < nspecs; i++) {
		bool part = select__part(n, &specs[i]), job = specs[i].kind == JOBSPEC_JOB;

		s->is_in_array |= part && job;
		s->is_meant |= (part || (job && s->job == specs[i].job)) &&
			       (r->merged || jobspec__has_step(&specs[i], r->steps[0].name));
	}
}

static void read_says(struct profile_says *s, const char *path, const struct jobspec *specs,
		      unsigned nspecs)
{
	struct reader_node *n = NULL;
	struct reader *r;

	if (reader__open(&r, path))
		return;
	for (unsigned i = 0; i < r->nsteps && !n; i++)
		if (r->steps[i].nodes.n && reader__node(r, i, 0, NULL, &n))
			n = NULL;
	s->is_profile = r->nsteps > 0;
	s->is_job_file = r->merged;
	if (parse_u32(r->job, &s->job))
		s->job = 0;
	if (n) {
		take_attributes(s, n);
		compare_specs(s, r, n, specs, nspecs);
	}
	reader_node__free(n);
	reader__free(r);
}

/* Of parent and child, but for the files. */
struct asking {
	const struct profile_file *files;
	const struct jobspec *specs;
	unsigned nspecs, at, n;
	struct profile_says says[];
};

static int ask(void *arg)
{
	struct asking *a = arg;

	for (; a->at < a->n; a->at++) {
		struct profile_says s = {
			.uid = NAN, .restart = NAN, .job_start = NAN, .start_ns = NAN};

		read_says(&s, a->files[a->at].path, a->specs, a->nspecs);
		a->says[a->at] = s;
	}
	return 0;
}

/* The child may have written anything there. */
static struct profile_says checked(const struct profile_says *from)
{
	struct profile_says s = *from;

	s.cluster[sizeof(s.cluster) - 1] = s.sluid[sizeof(s.sluid) - 1] = 0;
	s.step[sizeof(s.step) - 1] = s.node[sizeof(s.node) - 1] = 0;
	return s;
}

/* 0, or an error of having no child; says[at] is set of all. */
static int ask_all(struct asking *a, const struct profile_files *f, unsigned from, unsigned count)
{
	const struct jobspec *specs = a->specs;
	unsigned nspecs = a->nspecs, at = 0;
	int err;

	do {
		a->files = f->v + from;
		a->specs = specs;
		a->nspecs = nspecs;
		a->at = at;
		a->n = count;
		err = pool__try(ask, a, &POOL_STREAM);
		if (err == -EINTR)
			pool__follow_signal();
		if (err < 0 && err != -EBADMSG && err != -ETIME && err != -EOWNERDEAD)
			return err;
		at = a->at;
		if (err && at < count)
			a->says[at++] = (struct profile_says){0}; /* it brought the child down */
	} while (err && at < count);
	return 0;
}

int profile_files__ask(struct profile_files *f, unsigned from, const struct jobspec *specs,
		       unsigned n)
{
	unsigned count = f->n - from;
	size_t size = sizeof(struct asking) + count * sizeof(struct profile_says);
	struct asking *a = pool__share(size);
	int err;

	if (!a)
		return -ENOMEM;
	a->specs = specs;
	a->nspecs = n;
	err = ask_all(a, f, from, count);
	for (unsigned i = 0; !err && i < count; i++) {
		f->v[from + i].says = checked(&a->says[i]);
		if (!a->says[i].is_profile)
			f->v[from + i].says.job = profile_name__job(f->v[from + i].path);
		f->v[from + i].specs = specs;
		f->v[from + i].nspecs = n;
	}
	pool__unshare(a, size);
	return err;
}

void profile_files__trust(struct profile_files *f, unsigned from)
{
	for (unsigned i = from; i < f->n; i++)
		f->v[i].says = (struct profile_says){
			.is_profile = true,
			.is_job_file = profile_name__is_job_file(f->v[i].path),
			.job = profile_name__job(f->v[i].path),
			.uid = NAN,
			.restart = NAN,
			.job_start = NAN,
			.start_ns = NAN,
		};
}

/* ---- two jobs of one id: clusters may share a directory, and ids come again */

#define SAME_S 2 /* rows of one step on one node begin at one time */

/* slurmctld writes the cluster's name in lower case, a configuration may not. */
static bool texts_differ(const char *a, const char *b)
{
	return *a && *b && strcasecmp(a, b);
}

static bool numbers_differ(double a, double b)
{
	return fabs(a - b) > 0;
}

bool profile_says__differ(const struct profile_says *a, const struct profile_says *b)
{
	bool same_step = !strcmp(a->step, b->step) && !strcmp(a->node, b->node);

	if (!a->is_profile || !b->is_profile)
		return false;
	if (a->job != b->job || texts_differ(a->cluster, b->cluster) ||
	    numbers_differ(a->uid, b->uid) || numbers_differ(a->restart, b->restart))
		return true;
	if (texts_differ(a->sluid, b->sluid) || numbers_differ(a->job_start, b->job_start))
		return true;
	return same_step && fabs(a->start_ns - b->start_ns) > SAME_S * 1e9;
}
