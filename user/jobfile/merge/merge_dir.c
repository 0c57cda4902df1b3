/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the node-step files in a user's directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "identity/slurmjob.h"
#include "identity/stepname.h"
#include "jobfile/merge/merge_internal.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/select.h"
#include "pool/pool.h"

/* ---- which jobs' files the specs of a merge mean: tasks of arrays and components are known by
 * what their files say */

/* In one directory. */
struct search {
	const struct merge_opts *o;
	struct matched_jobs *matched;
	bool *asked; /* of each spec, whether files are asked for it */
	int dir;
	const char *where;
	const struct string_list *names;
};

static int add_matched(struct matched_jobs *w, const struct jobspec *spec, uint32_t job)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->v[i].spec == spec && w->v[i].job == job)
			return 0;
	if (room__grow(&w->v, w->n, 1, sizeof(*w->v)))
		return -ENOMEM;
	w->v[w->n++] = (struct matched_job){spec, job};
	return 0;
}

/* Which files say that they are of which spec. In a process of its own, which goes on behind a file
 * that brought its forerunner down. */
struct match {
	const struct search *c;
	unsigned at, end; /* names */
	bool *is;	  /* of each name, each spec */
};

static void match_file(struct match *m)
{
	const struct merge_opts *o = m->c->o;
	int fd = merge_file__open(m->c->dir, m->c->names->v[m->at], NULL, NULL);
	struct reader_node *n = NULL;
	struct reader *r = NULL;
	char path[64];

	if (fd < 0)
		return; /* it is named when its job is merged */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!reader__open(&r, path) && !reader__node(r, 0, 0, NULL, &n))
		for (unsigned i = 0; i < o->nspecs; i++)
			m->is[m->at * o->nspecs + i] =
				m->c->asked[i] && select__part(n, &o->specs[i]);
	reader_node__free(n);
	reader__free(r);
	close(fd);
}

/* A live file is complete, too. */
static bool is_file(const char *text, struct merge_name *name)
{
	enum merge_name_kind kind = merge_name__parse(text, name);

	return kind == NAME_FILE || kind == NAME_RUNNING;
}

static int match_files(void *arg)
{
	struct match *m = arg;
	struct merge_name name;

	for (; m->at < m->end; m->at++)
		if (is_file(m->c->names->v[m->at], &name))
			match_file(m);
	return 0;
}

static int take_match(struct search *c, const struct match *m)
{
	const bool *is = (const bool *)(m + 1); /* whatever the child has made of m->is */
	unsigned nspecs = c->o->nspecs;
	struct merge_name name;
	int err = 0;

	for (unsigned i = 0; !err && i < c->names->n * nspecs; i++) {
		if (!is[i])
			continue;
		merge_name__parse(c->names->v[i / nspecs], &name);
		err = add_matched(c->matched, &c->o->specs[i % nspecs], name.job);
	}
	return err;
}

/* Asks files for the specs that c->asked says. */
static int ask_files(struct search *c, unsigned from, unsigned end)
{
	size_t size = sizeof(struct match) + (size_t)c->names->n * c->o->nspecs;
	struct match *m = pool__share(size);
	int err;

	if (!m)
		return -ENOMEM;
	*m = (struct match){.c = c, .at = from, .end = end, .is = (bool *)(m + 1)};
	while ((err = pool__try(match_files, m, &POOL_STREAM)) < 0 && m->at < end) {
		if (err != -EBADMSG && err != -ETIME && err != -EOWNERDEAD)
			break;
		m->at++; /* it is named when its job is merged */
	}
	if (err == -EINTR)
		pool__follow_signal();
	if (err >= 0 || m->at == end)
		err = take_match(c, m);
	else
		log_error("%s: cannot be looked through: %s", c->where, strerror(-err));
	pool__unshare(m, size);
	return err;
}

/*
 * Whether a job's id may be that of an array: Slurm gives it to one of the tasks, too. If there are
 * files of that id, one tells: in most directories no other has to be opened. Not that of an extern
 * step, which has no environment. 1, 0 or -errno.
 */
static int may_be_array(struct search *c, unsigned spec)
{
	unsigned own = c->names->n, others = 0;
	struct merge_name name;
	bool telling = false;
	int err;

	for (unsigned i = 0; i < c->names->n; i++) {
		if (!is_file(c->names->v[i], &name))
			continue;
		if (name.job != c->o->specs[spec].job) {
			others++;
		} else if (!telling) {
			telling = strcmp(stepname__human(name.step), "extern");
			own = i;
		}
	}
	if (!others || own == c->names->n)
		return others > 0;
	c->asked[spec] = true;
	err = ask_files(c, own, own + 1);
	c->asked[spec] = false;
	for (unsigned i = 0; !err && i < c->matched->n; i++)
		if (c->matched->v[i].spec == &c->o->specs[spec])
			return 1;
	return err;
}

static int find_all(struct search *c)
{
	bool *array = calloc(c->o->nspecs + 1, sizeof(*array));
	int err = array ? 0 : -ENOMEM, is;
	bool any = false;

	for (unsigned i = 0; !err && i < c->o->nspecs; i++) {
		bool plain = c->o->specs[i].kind == JOBSPEC_JOB;

		is = !plain ? 1 : c->o->raw ? 0 : may_be_array(c, i);
		err = is < 0 ? is : 0;
		if (!err && plain)
			err = add_matched(c->matched, &c->o->specs[i], c->o->specs[i].job);
		any |= array[i] = is > 0;
	}
	if (!err)
		memcpy(c->asked, array, c->o->nspecs * sizeof(*array));
	free(array);
	return !err && any ? ask_files(c, 0, c->names->n) : err;
}

/* Finds the jobs of the files with these names in a directory. 0, -ENOMEM or -errno (logged). Frees
 * nothing: w->v is the caller's. */
static int matched_jobs_find(struct matched_jobs *w, const struct merge_opts *o, int dir,
			     const char *where, const struct string_list *names)
{
	struct search c = {.o = o, .matched = w, .dir = dir, .where = where, .names = names};
	int err;

	c.asked = calloc(o->nspecs + 1, sizeof(*c.asked));
	err = c.asked ? find_all(&c) : -ENOMEM;
	free(c.asked);
	return err;
}

struct scan {
	const struct merge_opts *o;
	struct merge_sets *sets;
	struct matched_jobs matched;
	struct string_list names;
	int dir;
	const char *where;
	int restart;
};

/* A file of a name that is none counts for no spec. */
static bool wanted(const struct scan *c, uint32_t job, const char *step)
{
	bool any = false;

	for (unsigned i = 0; i < c->matched.n; i++) {
		const struct matched_job *w = &c->matched.v[i];

		if (w->job != job || (step && !jobspec__has_step(w->spec, step)))
			continue;
		any = true;
		if (step)
			c->sets->found[w->spec - c->o->specs] = true;
	}
	return any;
}

struct merge_set *merge_sets__of(struct merge_sets *sets, uint32_t job, int restart, int dir,
				 const char *where)
{
	struct merge_set *v;

	for (unsigned i = 0; i < sets->n; i++)
		if (sets->v[i].job == job && sets->v[i].restart == restart &&
		    !strcmp(sets->v[i].where, where))
			return &sets->v[i];
	if (room__grow(&sets->v, sets->n, 1, sizeof(*sets->v)))
		return NULL;
	v = &sets->v[sets->n];
	*v = (struct merge_set){.job = job, .restart = restart};
	v->where = strdup(where);
	if (!v->where)
		return NULL;
	v->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	sets->n++;
	return v->dir < 0 ? NULL : v;
}

int merge_set__add_absent(struct merge_set *s, const char *step, const char *node)
{
	struct merge_absent *v;

	if (room__grow(&s->absent, s->nabsent, 1, sizeof(*s->absent)))
		return -ENOMEM;
	v = &s->absent[s->nabsent++];
	*v = (struct merge_absent){strdup(step), strdup(node)};
	return v->step && v->node ? 0 : -ENOMEM;
}

static int add_file(struct merge_set *s, const char *file, const struct merge_name *m)
{
	struct merge_item *v;

	if (room__grow(&s->items, s->nitems, 1, sizeof(*v)))
		return -ENOMEM;
	v = &s->items[s->nitems++];
	*v = (struct merge_item){
		.file = strdup(file),
		.step = strdup(stepname__group(m->step)),
		.node = strdup(m->node),
	};
	return v->file && v->step && v->node ? 0 : -ENOMEM;
}

static bool has_ended(struct merge_set *s)
{
	struct slurmjob j;
	char job[16];

	if (!s->asked) {
		snprintf(job, sizeof(job), "%u", s->job);
		s->ended = slurmjob__ask(job, s->job, &j) && !slurmjob__runs(&j);
	}
	s->asked = true;
	return s->ended;
}

static int add_running(struct scan *c, struct merge_set *s, const char *file,
		       const struct merge_name *m)
{
	struct stat st;

	/* The writer publishes the whole file before it takes the dot file away. */
	if (!fstatat(c->dir, file + 1, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (has_ended(s))
		log_warn("%s/%s: step %s on %s has no end, although its job has ended: left alone; "
			 "if %s has lost the rest, as a reboot can, rename it to %s",
			 c->where, file, stepname__human(m->step), m->node, m->node, file + 1);
	else
		log_warn("%s/%s: step %s on %s is still running: left alone", c->where, file,
			 stepname__human(m->step), m->node);
	s->refused++;
	s->running = !has_ended(s);
	return merge_set__add_absent(s, stepname__group(m->step), m->node);
}

static int add_name(struct scan *c, const char *name)
{
	struct merge_name m;
	enum merge_name_kind kind = merge_name__parse(name, &m);
	struct merge_set *s;

	if (kind == NAME_OTHER || !wanted(c, m.job, kind == NAME_FOREIGN ? NULL : m.step))
		return 0;
	s = merge_sets__of(c->sets, m.job, c->restart, c->dir, c->where);
	if (!s)
		return -ENOMEM;
	if (kind == NAME_RUNNING)
		return add_running(c, s, name, &m);
	if (kind == NAME_FILE)
		return add_file(s, name, &m);
	log_warn("%s/%s: not the name of a node-step file: left alone", c->where, name);
	s->refused++;
	return 0;
}

static int list_names(struct scan *c)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;
	int fd = fcntl(c->dir, F_DUPFD_CLOEXEC, 3), err; /* at its begin: it was just opened */

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return -errno;
	while ((errno = 0, e = readdir(d))) {
		err = string_list__append(&c->names, e->d_name);
		if (err)
			return err;
	}
	err = -errno;
	string_list__sort(&c->names, 0);
	return err;
}

static void scan_free(struct scan *c)
{
	string_list__free(&c->names);
	free(c->matched.v);
}

static int scan_dir(const struct merge_opts *o, struct merge_sets *sets, int dir, const char *where,
		    int restart);

static int scan_restart(struct scan *c, const char *name)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *where = NULL;
	uint32_t n;

	if (c->restart >= 0 || !str__starts(name, "restart") || parse_u32(name + 7, &n) ||
	    n > INT32_MAX)
		return 0;
	fd = openat(c->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		log_warn("%s/%s: %s: left alone", c->where, name,
			 errno == ENOTDIR || errno == ELOOP ? "no directory" : strerror(errno));
		return 0;
	}
	if (asprintf(&where, "%s/%s", c->where, name) < 0)
		return -ENOMEM;
	return scan_dir(c->o, c->sets, fd, where, (int)n);
}

static int scan_dir(const struct merge_opts *o, struct merge_sets *sets, int dir, const char *where,
		    int restart)
{
	struct scan c = {.o = o, .sets = sets, .dir = dir, .where = where, .restart = restart};
	int err = list_names(&c);

	if (err)
		log_error("%s: cannot be listed: %s", where, strerror(-err));
	if (!err)
		err = matched_jobs_find(&c.matched, o, dir, where, &c.names);
	for (unsigned i = 0; !err && i < c.names.n; i++)
		err = add_name(&c, c.names.v[i]);
	for (unsigned i = 0; !err && i < c.names.n; i++)
		err = scan_restart(&c, c.names.v[i]);
	scan_free(&c);
	return err;
}

static void log_missing(const struct merge_opts *o, const struct jobspec *spec, const char *where)
{
	struct slurmjob j;
	char job[JOBSPEC_TEXT], merged[PATH_MAX];

	snprintf(merged, sizeof(merged), "%s/job_%u.h5", where, spec->job);
	snprintf(job, sizeof(job), "%.*s", (int)strcspn(spec->text, "."), spec->text);
	if (!o->raw && slurmjob__ask(job, 0, &j) && slurmjob__runs(&j))
		log_error(
			"job %s still runs (%s): no node-step files%s%s in %s yet; --wait SECONDS "
			"waits",
			job, j.state, spec->any_step ? "" : " of ",
			spec->any_step ? "" : spec->text, where);
	else if (spec->kind == JOBSPEC_JOB && !access(merged, R_OK))
		log_error(
			"job %s: no node-step files in %s; what was merged is there, in job_%u.h5",
			spec->text, where, spec->job);
	else if (o->or_none && !strcmp(where, o->profile_dir))
		log_error("job %s: no node-step files in %s, and no directory of %s: -u USER says "
			  "whose files are meant",
			  spec->text, where, o->user);
	else
		log_error("job %s: no node-step files in %s", spec->text, where);
}

static void name_missing(const struct merge_opts *o, struct merge_sets *sets, const char *where)
{
	for (unsigned i = 0; i < o->nspecs; i++)
		sets->missing += !sets->found[i];
	if (o->caller_logs_none && sets->missing == o->nspecs)
		return;
	for (unsigned i = 0; i < o->nspecs; i++)
		if (!sets->found[i])
			log_missing(o, &o->specs[i], where);
}

/* The nodes of the job file that is there come first; files of the same name are compared. */
static int by_step_node(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;
	int d = stepname__cmp(x->step, y->step);

	if (!d)
		d = strverscmp(x->node, y->node);
	return d ? d : (x->file != NULL) - (y->file != NULL);
}

void merge_set__sort(struct merge_set *s)
{
	if (s->nitems)
		qsort(s->items, s->nitems, sizeof(*s->items), by_step_node);
}

bool merge_item__same_node(const struct merge_item *a, const struct merge_item *b)
{
	return !strcmp(a->node, b->node) && !stepname__cmp(a->step, b->step);
}

static int by_job(const void *a, const void *b)
{
	const struct merge_set *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->restart < y->restart ? -1 : x->restart > y->restart;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Returns the descriptor of the directory, and its path; or -errno, having said why. */
static int open_dir(const struct merge_opts *o, char **where)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	bool is_itself;
	int dir, err;

	if (asprintf(where, "%s/%s", o->profile_dir, o->user) < 0) {
		*where = NULL;
		return -ENOMEM;
	}
	dir = open(*where, flags | O_NOFOLLOW);
	is_itself = dir < 0 && errno == ENOENT && o->or_none;
	if (is_itself)
		dir = open(o->profile_dir, flags);
	err = dir < 0 ? -errno : 0;
	if (is_itself)
		(*where)[strlen(o->profile_dir)] = '\0';
	if (!err)
		return dir;
	log_error("%s: %s; -p says where the profiles are, -u whose",
		  is_dir(o->profile_dir) ? *where : o->profile_dir,
		  err == -ELOOP || err == -ENOTDIR ? "no directory" : strerror(-err));
	return err;
}

int merge_dir__find(const struct merge_opts *o, struct merge_sets *out)
{
	_cleanup_close_ int dir = -1;
	_cleanup_free_ char *where = NULL;
	int err;

	*out = (struct merge_sets){0};
	if (!str__safe_name(o->user)) {
		log_error("\"%s\" cannot be the name of a user's directory", o->user);
		return -EINVAL;
	}
	dir = open_dir(o, &where);
	if (dir < 0)
		return dir;
	out->found = calloc(o->nspecs + 1, sizeof(*out->found));
	err = out->found ? scan_dir(o, out, dir, where, -1) : -ENOMEM;
	if (!err)
		name_missing(o, out, where);
	for (unsigned i = 0; i < out->n; i++)
		merge_set__sort(&out->v[i]);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_job);
	return err;
}

void merge_dir__free(struct merge_sets *sets)
{
	for (unsigned i = 0; i < sets->n; i++) {
		struct merge_set *s = &sets->v[i];

		for (unsigned k = 0; k < s->nitems + s->nothers; k++) {
			free(s->items[k].file);
			free(s->items[k].step);
			free(s->items[k].node);
		}
		for (unsigned k = 0; k < s->nabsent; k++) {
			free(s->absent[k].step);
			free(s->absent[k].node);
		}
		if (s->dir >= 0)
			close(s->dir);
		free(s->items);
		free(s->absent);
		free(s->where);
	}
	free(sets->v);
	free(sets->found);
	*sets = (struct merge_sets){0};
}
