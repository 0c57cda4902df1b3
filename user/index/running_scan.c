/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the files of running steps, which begin with a dot and are written anew every
 * PublishInterval, in limited children. Users have turns as with other profiles (scan.c); jobs
 * whose turn is over are read in a later look, those first that were read longest ago.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/read_note.h"
#include "base/room.h"
#include "index/claim.h"
#include "index/running.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/profile_search.h"

#define OLD_S                                                                             \
	86400.0 /* longest PublishInterval: a directory that has not changed since has no \
		   running steps */

#define BATCH	  500	/* jobs per transaction */
#define FILES_MAX 20000 /* of running steps in a directory, and of others of their jobs */

/* The files of a job's steps in a directory. */
struct step_files {
	uint32_t job;
	uid_t uid;
	char **paths;
	unsigned n;
	bool is_running; /* one has a dot, and is to be read */
	double mtime_s, bytes, known_s;
};

/* A job of the batch that was read. */
struct read_job {
	unsigned of;
	struct row row;
};

struct looking {
	struct index *ix;
	const struct scan_options *o;
	const char *dir;
	struct running_list *known;
	struct step_files *jobs;
	unsigned njobs;
	unsigned batch[BATCH], nbatch; /* which of them are being read; of one user */
	struct read_job *read;
	unsigned nread;
	struct read_turn turn;
};

static void free_jobs(struct looking *l)
{
	for (unsigned i = 0; i < l->njobs; i++) {
		for (unsigned k = 0; k < l->jobs[i].n; k++)
			free(l->jobs[i].paths[k]);
		free(l->jobs[i].paths);
	}
	free(l->jobs);
	l->jobs = NULL;
	l->njobs = 0;
}

/* ---- which jobs run in a directory */

static double mtime_of(const struct stat *st)
{
	return (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9;
}

/* The first job that has that number or a higher one. */
static unsigned place_of(const struct looking *l, uint32_t job)
{
	unsigned low = 0, high = l->njobs;

	while (low < high) {
		const unsigned mid = low + (high - low) / 2;

		if (l->jobs[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Running steps come by number, then the others of these jobs. */
static struct step_files *job_of(struct looking *l, uint32_t job, uid_t uid)
{
	struct step_files *j;

	for (unsigned i = place_of(l, job); i < l->njobs && l->jobs[i].job == job; i++)
		if (l->jobs[i].uid == uid)
			return &l->jobs[i];
	if (l->njobs && l->jobs[l->njobs - 1].job > job)
		return NULL; /* no running step of this user's */
	if (room__grow(&l->jobs, l->njobs, 1, sizeof(*j)))
		return NULL;
	j = &l->jobs[l->njobs++];
	*j = (struct step_files){.job = job, .uid = uid, .known_s = NAN};
	return j;
}

/* Owns the path. */
static int add_file(struct looking *l, char *path, uint32_t job, bool is_running)
{
	struct step_files *j = NULL;
	struct stat st;
	const bool is_file =
		!lstat(path, &st) && S_ISREG(st.st_mode) && (!l->o->own || st.st_uid == getuid());

	if (is_file)
		j = job_of(l, job, st.st_uid);
	if (!j || room__grow(&j->paths, j->n, 1, sizeof(*j->paths))) {
		free(path);
		return is_file && j ? -ENOMEM : 0;
	}
	j->paths[j->n++] = path;
	j->is_running |= is_running;
	j->mtime_s = fmax(j->mtime_s, mtime_of(&st));
	j->bytes += (double)read_note__file_bytes(&st);
	return 0;
}

struct names {
	struct merge_name *v;
	unsigned n;
};

static int by_number(const void *a, const void *b)
{
	const uint32_t x = ((const struct merge_name *)a)->job,
		       y = ((const struct merge_name *)b)->job;

	return x < y ? -1 : x > y;
}

static bool has_job(const struct names *running, const struct merge_name *m)
{
	return running->n &&
	       bsearch(m, running->v, running->n, sizeof(*running->v), by_number) != NULL;
}

/* Files of running steps, which their users may make as many as they like. */
static int list_running(DIR *d, const char *dir, struct names *running)
{
	struct merge_name name;
	struct dirent *e;

	while ((e = readdir(d))) {
		if (merge_name__parse(e->d_name, &name) != NAME_RUNNING)
			continue;
		if (running->n == FILES_MAX) {
			log_warn("%s: more than %d files of running steps: the others are not read",
				 dir, FILES_MAX);
			break;
		}
		if (room__grow(&running->v, running->n, 1, sizeof(name)))
			return -ENOMEM;
		running->v[running->n++] = name;
	}
	if (running->n)
		qsort(running->v, running->n, sizeof(*running->v), by_number);
	return 0;
}

/* The jobs with files of running steps; *ended: the files of other steps of them. */
static int list_names(const char *dir, struct names *running, struct string_list *ended)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	int err = d ? list_running(d, dir, running) : 0;
	struct merge_name name;
	struct dirent *e;

	if (!d || !running->n)
		return err;
	rewinddir(d);
	while (!err && ended->n < FILES_MAX && (e = readdir(d)))
		if (merge_name__parse(e->d_name, &name) == NAME_FILE && has_job(running, &name))
			err = string_list__append(ended, e->d_name);
	return err;
}

static int add_named(struct looking *l, const char *name, uint32_t job, bool is_running)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", l->dir, name) < 0)
		return -ENOMEM;
	return add_file(l, path, job, is_running);
}

static int find_jobs(struct looking *l)
{
	struct names running = {0};
	struct string_list ended = {0};
	int err = list_names(l->dir, &running, &ended);

	for (unsigned i = 0; !err && i < running.n; i++) {
		const struct merge_name *m = &running.v[i];
		char name[sizeof(*m) + 32];

		snprintf(name, sizeof(name), ".%u_%s_%s.h5", m->job, m->step, m->node);
		err = add_named(l, name, m->job, true);
	}
	for (unsigned i = 0; !err && i < ended.n; i++) {
		struct merge_name m;

		if (merge_name__parse(ended.v[i], &m) == NAME_FILE)
			err = add_named(l, ended.v[i], m.job, false);
	}
	free(running.v);
	string_list__free(&ended);
	return err;
}

/* ---- reading */

static int take_row(void *arg, unsigned job, struct row *r, const char *why)
{
	struct looking *l = arg;

	(void)why;
	if (r && r->now) {
		if (room__grow(&l->read, l->nread, 1, sizeof(*l->read)))
			return -ENOMEM;
		l->read[l->nread++] = (struct read_job){job, *r};
		row__init(r);
	}
	return turn__count(&l->turn, !r);
}

static int put_row(struct looking *l, struct row *r, const struct step_files *j)
{
	char user[256], why[256];
	const struct claim claim = {j->job, j->uid, user, j->mtime_s};
	const struct running_files files = {l->dir, l->o->cluster, user, j->mtime_s, j->n};
	int err;

	claim__name_of_user(j->uid, user, sizeof(user));
	if (!row__has_key(r))
		return 0;
	claim__find_lie(why, sizeof(why), r, &claim);
	if (*why)
		return 0;
	err = row__set_text(r, INDEX_user, user);
	if (!err)
		err = row__derive(r);
	return err ? err : running__put_profile(l->ix, r, &files);
}

static int write_rows(struct looking *l)
{
	int err = l->nread ? index__begin(l->ix) : 0;

	if (err || !l->nread)
		return err;
	for (unsigned i = 0; !err && i < l->nread; i++)
		err = put_row(l, &l->read[i].row, &l->jobs[l->batch[l->read[i].of]]);
	return index__end(l->ix, err);
}

static int read_batch(struct looking *l)
{
	struct scan_job *jobs = calloc(l->nbatch + 1, sizeof(*jobs));
	int err = jobs ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < l->nbatch; i++) {
		const struct step_files *f = &l->jobs[l->batch[i]];

		jobs[i] = (struct scan_job){.paths = f->paths,
					    .n = f->n,
					    .uid = f->uid,
					    .mtime_s = f->mtime_s,
					    .bytes = f->bytes,
					    .is_of_many = true,
					    .is_running = true};
	}
	if (!err && l->nbatch)
		err = l->o->read(jobs, l->nbatch, take_row, l);
	if (err >= 0)
		err = write_rows(l);
	for (unsigned i = 0; i < l->nread; i++)
		row__free(&l->read[i].row);
	free(l->read);
	l->read = NULL;
	l->nread = l->nbatch = 0;
	free(jobs);
	return err;
}

/* By user; those that are not known, or were read longest ago, are first. */
static int by_need(const void *a, const void *b)
{
	const struct step_files *x = a, *y = b;
	const double known[] = {isnan(x->known_s) ? 0 : x->known_s,
				isnan(y->known_s) ? 0 : y->known_s};

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	if (known[0] != known[1])
		return known[0] < known[1] ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int by_place(const void *a, const void *b)
{
	const struct running_known *x = a, *y = b;
	const int order = strcmp(x->directory, y->directory);

	return order ? order : (x->job > y->job) - (x->job < y->job);
}

/* Marks what the index knows and is there, and sets when it was read. Whether that is all. */
static bool is_read(struct looking *l, struct step_files *j)
{
	const struct running_known key = {.job = j->job, .directory = (char *)l->dir};
	struct running_known *k =
		l->known->n ? bsearch(&key, l->known->v, l->known->n, sizeof(key), by_place) : NULL;

	if (!k)
		return false;
	k->is_there = true;
	j->known_s = k->mtime_s;
	return fabs(k->mtime_s - j->mtime_s) < 1e-6 && k->files == j->n;
}

static int read_jobs(struct looking *l)
{
	int err = 0;

	for (unsigned i = 0; i < l->njobs; i++)
		l->jobs[i].is_running &= !is_read(l, &l->jobs[i]);
	qsort(l->jobs, l->njobs, sizeof(*l->jobs), by_need);
	for (unsigned i = 0; !err && i < l->njobs; i++) {
		struct step_files *j = &l->jobs[i];

		if (!j->is_running)
			continue;
		if (l->nbatch == BATCH || (l->nbatch && l->jobs[l->batch[0]].uid != j->uid))
			err = read_batch(l);
		if (!err && turn__ask(&l->turn, j->uid) == TURN_READ)
			l->batch[l->nbatch++] = i;
	}
	return err ? err : read_batch(l);
}

static bool is_known(const struct running_list *known, const char *dir)
{
	for (unsigned i = 0; i < known->n; i++)
		if (!strcmp(known->v[i].directory, dir))
			return true;
	return false;
}

static int look_into(struct index *ix, const char *dir, const struct scan_options *o,
		     struct running_list *known)
{
	struct looking l = {.ix = ix, .o = o, .dir = dir, .known = known};
	struct stat st;
	int err;

	if (stat(dir, &st) || (o->own && st.st_uid != getuid()) ||
	    (mtime_of(&st) < (double)time(NULL) - OLD_S && !is_known(known, dir)))
		return 0;
	l.turn = (struct read_turn){.waits = o->waits};
	err = find_jobs(&l);
	if (!err && l.njobs)
		err = read_jobs(&l);
	free_jobs(&l);
	return err;
}

static int end_look(struct index *ix, const struct running_list *known)
{
	int err = index__begin(ix);

	if (err)
		return err;
	for (unsigned i = 0; !err && i < known->n; i++)
		if (!known->v[i].is_there)
			err = running__drop_profile(ix, known->v[i].id);
	if (!err)
		err = running__note_look(ix, (double)time(NULL));
	return index__end(ix, err);
}

int running__scan(struct index *ix, const char *path, const struct scan_options *o)
{
	struct running_list known = {0};
	struct string_list dirs = {0};
	int err = profile_search__dirs(&dirs, path);

	db__share(ix->db);
	if (!err)
		err = running__known(ix, path, &known);
	if (known.n)
		qsort(known.v, known.n, sizeof(*known.v), by_place);
	for (unsigned i = 0; !err && i < dirs.n; i++)
		err = look_into(ix, dirs.v[i], o, &known);
	if (!err)
		err = end_look(ix, &known);
	running_list__free(&known);
	string_list__free(&dirs);
	return err;
}
