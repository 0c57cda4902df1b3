/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until all node-step files of a job are in place, by their names and attributes. */
#include "jobfile/merge/merge_wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/room.h"
#include "hdf5/reader.h"
#include "identity/slurmjob.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge.h"
#include "jobfile/merge/merge_internal.h"
#include "jobfile/merge/merge_name.h"
#include "pool/pool.h"

/* What Slurm has said of the job; zeroed before the first question. */
struct merge_age {
	uint64_t asked_ns;
	int64_t job_start;
};

/* ---- whether a job file is of the job that is asked for, or of an earlier one of that id */

#define CLOCKS_S 30 /* the clocks of controller and node differ by less */
#define AGAIN_S	 60 /* Slurm's controller is asked at most once in this time */

struct question {
	const char *path;
	int64_t *start; /* shared */
};

/* Reads from a job file when its job began; -1: the file does not say it. Runs in a child. */
static int read_start(void *arg)
{
	struct question *q = arg;
	struct reader *r;

	if (reader__open(&r, q->path))
		return 1;
	if (!reader__i64(r->file, "Job Start EpochTime", q->start) &&
	    !reader__i64(r->file, "Start EpochTime", q->start))
		*q->start = -1;
	reader__free(r);
	return 0;
}

/* When the job of the file began. A file that does not say it counts as begun at its last change:
 * its job cannot have begun later. */
static int64_t start_of(const char *path)
{
	struct question q = {path, pool__share(sizeof(*q.start))};
	int64_t start = -1;
	struct stat st;

	if (q.start && !pool__call(read_start, &q, &POOL_STREAM))
		start = *q.start;
	if (q.start)
		pool__unshare(q.start, sizeof(*q.start));
	return start >= 0 || lstat(path, &st) ? start : st.st_mtime;
}

/* When Slurm began the job; -1: Slurm does not know, INT64_MAX: the job has not begun. */
static int64_t ask_slurm(uint32_t job)
{
	struct slurmjob j;
	char id[16];

	snprintf(id, sizeof(id), "%u", job);
	if (!slurmjob__ask(id, job, &j))
		return -1;
	return j.start < 0 && !strcmp(j.state, "PENDING") ? INT64_MAX : j.start;
}

/* Whether the file is older than the first job of o, whose begin is in o, or else asked of Slurm.
 * False also where neither knows the begin. */
static bool age_older(struct merge_age *a, const struct merge_opts *o, const char *path)
{
	const uint64_t now = clock__mono_ns();

	if (o->job_start) {
		a->job_start = o->job_start;
	} else if (!a->asked_ns || now - a->asked_ns > AGAIN_S * NSEC_PER_SEC) {
		a->job_start = ask_slurm(o->specs[0].job);
		a->asked_ns = now;
	}
	return a->job_start >= 0 && start_of(path) < a->job_start - CLOCKS_S;
}

#define SETTLE_S 3 /* so long the names stay as they are before all is in place */
#define NOT_READ (-2)
#define NO_ATTR	 (-1)
#define TEXT_LEN 700

/* How often names are looked at, by how long it has been. */
static const struct {
	unsigned until_s;
	unsigned every_ms;
} paces[] = {{10, 500}, {60, 2000}, {~0u, 10000}};

struct name {
	struct merge_name m;
	bool running;
};

/* The attributes of a file of the step. */
struct step_attrs {
	int64_t nodes, restart; /* NOT_READ, NOT_SAID */
};

struct wait_step {
	struct merge_name first; /* of its files */
	unsigned files;		 /* nodes whose file is in place */
	unsigned running;
	char running_on[sizeof(((struct merge_name *)0)->node)];
	struct step_attrs attrs;
};

struct wait {
	const struct merge_opts *o;
	struct name *names; /* of the last look */
	unsigned nnames;
	struct wait_step *steps; /* in the order of by_name */
	unsigned nsteps;
	struct merge_age age;
	bool older;	     /* the job file that is there is of an earlier job */
	int err;	     /* of looking: what was there before counts on */
	uint64_t settled_ns; /* when the names last changed */
};

static int by_step(const struct merge_name *x, const struct merge_name *y)
{
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return strcmp(x->step, y->step);
}

/* A node's file before its dot file. */
static int by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int d = by_step(&x->m, &y->m);

	if (!d)
		d = strcmp(x->m.node, y->m.node);
	return d ? d : x->running - y->running;
}

static bool wanted(const struct merge_opts *o, const struct merge_name *m)
{
	for (unsigned i = 0; i < o->nspecs; i++)
		if (o->specs[i].job == m->job && jobspec__has_step(&o->specs[i], m->step))
			return true;
	return false;
}

static int open_dir(const struct merge_opts *o)
{
	_cleanup_free_ char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/%s", o->profile_dir, o->user) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All that is wanted, sorted. The number, or -errno. */
static int list_names(const struct merge_opts *o, int dir, struct name **out)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	unsigned n = 0;

	if (!d)
		return -errno;
	while ((errno = 0, e = readdir(d))) {
		struct name name;
		enum merge_name_kind kind = merge_name__parse(e->d_name, &name.m);

		if ((kind != NAME_FILE && kind != NAME_RUNNING) || !wanted(o, &name.m))
			continue;
		name.running = kind == NAME_RUNNING;
		if (room__grow(out, n, 1, sizeof(**out)))
			return -ENOMEM;
		(*out)[n++] = name;
	}
	if (errno)
		return -errno;
	if (n)
		qsort(*out, n, sizeof(**out), by_name);
	return (int)n;
}

static int by_first(const void *name, const void *step)
{
	return by_step(name, &((const struct wait_step *)step)->first);
}

/* A job may have tens of thousands of steps, and each is looked for. */
static struct step_attrs known_attrs(const struct wait *w, const struct merge_name *m)
{
	const struct wait_step *s =
		w->nsteps ? bsearch(m, w->steps, w->nsteps, sizeof(*s), by_first) : NULL;

	return s ? s->attrs : (struct step_attrs){NOT_READ, NOT_READ};
}

/* The steps that names make. */
static int group(struct wait *w, const struct name *names, unsigned n)
{
	struct wait_step *v = calloc(n + 1, sizeof(*v)), *s = v;
	unsigned nsteps = 0;

	if (!v)
		return -ENOMEM;
	for (unsigned i = 0; names && i < n; i++) {
		const struct merge_name *m = &names[i].m;

		if (!i || by_step(m, &names[i - 1].m)) {
			s = &v[nsteps++];
			s->first = *m;
			s->attrs = known_attrs(w, m);
		} else if (!strcmp(m->node, names[i - 1].m.node)) {
			continue; /* its dot file is about to go */
		}
		if (names[i].running) {
			s->running++;
			memcpy(s->running_on, m->node, sizeof(s->running_on));
		} else if (!s->files++) {
			s->first = *m;
		}
	}
	free(w->steps);
	w->steps = v;
	w->nsteps = nsteps;
	return 0;
}

/* A child reads the attributes of every step that has a file and has not been read. */
struct reading {
	const struct wait *w;
	int dir;
	unsigned at;
	struct step_attrs attrs[];
};

static struct step_attrs attrs_of(int dir, const char *name)
{
	struct step_attrs f = {NO_ATTR, NO_ATTR};
	int fd = merge_file__open(dir, name, NULL, NULL);
	struct reader_node *n = NULL;
	struct reader *r = NULL;
	char path[64];

	if (fd == -EBUSY)
		f.nodes = NOT_READ;
	if (fd < 0)
		return f;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!reader__open(&r, path) && !reader__node(r, 0, 0, "Tasks", &n)) {
		reader_node__i64(n, "Nodes in Step", &f.nodes);
		reader_node__i64(n, "Restart Count", &f.restart);
	}
	reader_node__free(n);
	reader__free(r);
	close(fd);
	return f;
}

static bool to_read(const struct wait_step *s)
{
	return s->files && s->attrs.nodes == NOT_READ;
}

static int read_attrs(void *arg)
{
	struct reading *r = arg;
	char name[200];

	for (; r->at < r->w->nsteps; r->at++) {
		const struct merge_name *m = &r->w->steps[r->at].first;

		if (!to_read(&r->w->steps[r->at]))
			continue;
		r->attrs[r->at] = (struct step_attrs){NO_ATTR, NO_ATTR};
		snprintf(name, sizeof(name), "%u_%s_%s.h5", m->job, m->step, m->node);
		r->attrs[r->at] = attrs_of(r->dir, name);
	}
	return 0;
}

/* A file that brings the reader down says nothing: the merge will name it. */
static int learn_files(struct wait *w, int dir)
{
	size_t size = sizeof(struct reading) + (w->nsteps + 1) * sizeof(struct step_attrs);
	struct reading *r;
	unsigned i, left = 0;
	int err = 0;

	for (i = 0; i < w->nsteps; i++)
		left += to_read(&w->steps[i]);
	r = left ? pool__share(size) : NULL;
	if (!r)
		return left ? -ENOMEM : 0;
	r->w = w;
	r->dir = dir;
	while (r->at < w->nsteps && (err = pool__try(read_attrs, r, &POOL_STREAM)) < 0) {
		if (err != -EBADMSG && err != -ETIME && err != -EOWNERDEAD)
			break;
		r->at++;
	}
	if (err == -EINTR)
		pool__follow_signal();
	for (i = 0; i < w->nsteps && i < r->at; i++)
		if (to_read(&w->steps[i]))
			w->steps[i].attrs = r->attrs[i];
	pool__unshare(r, size);
	return err < 0 && r->at < w->nsteps ? err : 0;
}

static bool names_equal(const struct wait *w, const struct name *names, unsigned n)
{
	if (n != w->nnames || !names != !w->names)
		return false;
	for (unsigned i = 0; names && i < n; i++)
		if (by_name(&w->names[i], &names[i]))
			return false;
	return true;
}

static void check_dir(struct wait *w)
{
	_cleanup_close_ int dir = open_dir(w->o);
	struct name *names = NULL;
	int n = dir < 0 ? dir : list_names(w->o, dir, &names);

	if (n == -ENOENT)
		n = 0; /* the first file makes the directory */
	w->err = n < 0 ? n : 0;
	if (n < 0 || (w->err = group(w, names, (unsigned)n))) {
		free(names);
		return;
	}
	if (!names_equal(w, names, (unsigned)n))
		w->settled_ns = clock__mono_ns();
	free(w->names);
	w->names = names;
	w->nnames = (unsigned)n;
	if (n)
		w->err = learn_files(w, dir);
}

/* A batch script may have been given the environment of a step it was submitted in. */
static int64_t nodes_of(const struct wait_step *s)
{
	return strcmp(s->first.step, "batch") ? s->attrs.nodes : 1;
}

static bool in_place(const struct wait_step *s)
{
	return s->files && !s->running && s->attrs.nodes != NOT_READ &&
	       nodes_of(s) <= (int64_t)s->files;
}

static bool all_in_place(const struct wait *w)
{
	for (unsigned i = 0; i < w->nsteps; i++)
		if (!in_place(&w->steps[i]))
			return false;
	return !w->err && w->nsteps;
}

static void log_missing(const struct wait *w, unsigned seconds)
{
	const char *where = w->o->user;
	char text[TEXT_LEN] = "";
	size_t at = 0;

	for (unsigned i = 0; i < w->nsteps && at + 220 < sizeof(text); i++) {
		const struct wait_step *s = &w->steps[i];

		if (in_place(s))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%sstep %s of job %u ",
				       at ? "; " : "", stepname__human(s->first.step),
				       s->first.job);
		if (s->running)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "still runs on %s",
					       s->running_on);
		else if (s->attrs.nodes == NOT_READ)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "is still written");
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "has files of %u of its %lld nodes", s->files,
					       (long long)nodes_of(s));
	}
	if (w->err)
		snprintf(text, sizeof(text), "%s/%s: %s", w->o->profile_dir, where,
			 strerror(-w->err));
	else if (!w->nsteps)
		snprintf(text, sizeof(text), "there are no files in %s/%s%s", w->o->profile_dir,
			 where, w->older ? ", and the job file is of an earlier job" : "");
	log_error("job %s: not merged, for after %u s %s; jobprof merge merges what is there",
		  w->o->specs[0].text, seconds, text);
}

/* Until the names are looked at again: where all is in place, once they may count as settled. */
static void pause_until(uint64_t end, uint64_t begun, uint64_t settled)
{
	uint64_t now = clock__mono_ns(), ns;
	unsigned i = 0;
	struct timespec t;

	while ((now - begun) / NSEC_PER_SEC >= paces[i].until_s)
		i++;
	ns = settled > now ? settled - now : paces[i].every_ms * 1000000ull;
	if (now + ns > end)
		ns = end > now ? end - now : 0;
	t = (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
	nanosleep(&t, NULL);
}

/* Whether the job file is there, and not of an earlier job of that id: then w->older says so. */
static bool is_there(struct wait *w)
{
	_cleanup_free_ char *path = merge__output_name(w->o, w->o->specs[0].job, -1);
	struct stat st;

	w->older = false;
	if (!path || lstat(path, &st))
		return false;
	w->older = age_older(&w->age, w->o, path);
	return !w->older;
}

static int await(struct wait *w, unsigned seconds)
{
	uint64_t begun = clock__mono_ns(), end = begun + seconds * NSEC_PER_SEC;

	for (;;) {
		uint64_t settled_ns;
		bool late, settled, all;

		check_dir(w);
		late = clock__mono_ns() >= end;
		settled_ns = w->settled_ns + SETTLE_S * NSEC_PER_SEC;
		settled = late || clock__mono_ns() >= settled_ns;
		all = all_in_place(w);
		if (settled && all)
			return 0;
		if (settled && !w->err && !w->nsteps && is_there(w))
			return 1;
		if (late) {
			log_missing(w, seconds);
			return -ETIME;
		}
		pause_until(end, begun, all ? settled_ns : 0);
	}
}

/* What job's files, and what its job file says of its run; that of a job never requeued is 0. */
static int64_t run_of_files(const struct wait *w, uint32_t job)
{
	int64_t run = 0;

	for (unsigned i = 0; i < w->nsteps; i++)
		if (w->steps[i].first.job == job && w->steps[i].attrs.restart > run)
			run = w->steps[i].attrs.restart;
	return run;
}

struct old {
	const char *path;
	struct step_attrs *attrs;
};

static int read_old(void *arg)
{
	struct old *o = arg;

	*o->attrs = attrs_of(AT_FDCWD, o->path);
	return 0;
}

static int64_t run_of_output(const char *path)
{
	struct old o = {path, pool__share(sizeof(struct step_attrs))};
	int64_t run = -1;

	if (!o.attrs)
		return -1;
	if (!pool__call(read_old, &o, &POOL_STREAM) && o.attrs->nodes != NOT_READ)
		run = o.attrs->restart > 0 ? o.attrs->restart : 0;
	pool__unshare(o.attrs, sizeof(*o.attrs));
	return run;
}

/* A requeued job's files are of another run than what was merged of it before. */
static void set_aside(const struct wait *w, uint32_t job)
{
	_cleanup_free_ char *path = merge__output_name(w->o, job, -1), *kept = NULL;
	int64_t run = run_of_files(w, job), was;
	struct stat st;

	if (!run || !path || lstat(path, &st))
		return;
	was = run_of_output(path);
	if (was < 0 || was >= run)
		return;
	kept = merge__output_name(w->o, job, (int)was);
	if (!kept)
		return;
	if (renameat2(AT_FDCWD, path, AT_FDCWD, kept, RENAME_NOREPLACE))
		log_warn("%s: of an earlier run, cannot become %s: %s", path, kept,
			 strerror(errno));
	else
		log_info("%s: of an earlier run, is %s now", path, kept);
}

int merge_wait__run(const struct merge_opts *opts, unsigned seconds)
{
	struct wait w = {.o = opts, .settled_ns = clock__mono_ns()};
	int err = await(&w, seconds);

	for (unsigned i = 0; !err && i < w.nsteps; i++)
		if (!i || w.steps[i].first.job != w.steps[i - 1].first.job)
			set_aside(&w, w.steps[i].first.job);
	free(w.names);
	free(w.steps);
	return err;
}
