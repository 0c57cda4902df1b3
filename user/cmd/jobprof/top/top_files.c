/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of jobprof top away from the nodes: the nodes of one job, from the last rows of the
 * files of its running steps, which jobprofd writes anew at each PublishInterval. The files are
 * read in limited children, and only where they have changed since the last look.
 */
#include "cmd/jobprof/top/top_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/room.h"
#include "hdf5/cursor.h"
#include "jobfile/merge/merge_name.h"
#include "jobfile/profile_search.h"
#include "jobfile/profiles.h"
#include "pool/pool.h"

#define MIB	       1048576.0
#define WORKERS	       4
#define NAME_MAX_BYTES 64

/* A node-step as its last rows have it. */
struct last_rows {
	char step[NAME_MAX_BYTES], node[NAME_MAX_BYTES];
	double at_ns; /* of the last row; NaN: there is none */
	double v[TOP_VALUES];
};

struct top_file {
	char *path;
	struct timespec changed;
	struct last_rows *v;
	unsigned n;
	bool seen;
};

static const struct {
	const char *series, *column;
	double scale;
	enum top_value value;
	bool is_rate;
} columns[] = {
	{"Step", "CPUUtilization", 1, TOP_CPU, false},
	{"Step", "RunDelay", 100, TOP_WAIT, true},
	{"Step", "OffCPUDisk", 100, TOP_DISK, true},
	{"Step", "ReadMB", MIB, TOP_READ, true},
	{"Step", "WriteMB", MIB, TOP_WRITTEN, true},
	{"Step", "BlkReadMB", MIB, TOP_BLK_READ, true},
	{"Step", "BlkWriteMB", MIB, TOP_BLK_WRITTEN, true},
	{"Step", "NetRxMB", MIB, TOP_NET_IN, true},
	{"Step", "NetTxMB", MIB, TOP_NET_OUT, true},
	{"Step", "RSS", 1024, TOP_MEMORY, false},
	{"Step", "MemMB", MIB, TOP_MEMORY, false}, /* behind RSS: where it is known it counts */
	{"Step", "MemLimitMB", MIB, TOP_LIMIT, false},
	{"Step", "GPUUtilization", 1, TOP_GPU, false},
	{"Step", "GPUMemMB", MIB, TOP_GPU_MEM, false},
	{"Step", "Threads", 1, TOP_THREADS, false},
	{"Step", "ElapsedTime", 1, TOP_ELAPSED, false},
	{"Energy", "StepEnergy", 1, TOP_POWER, true},
};

/* ---- in a child */

static double number(const struct cursor *c, const union cell *row, const char *column)
{
	int at = cursor__column(c, column);

	if (at < 0 || c->cols[at].unknown)
		return NAN;
	return c->cols[at].type == COL_F64 ? row[at].f : (double)row[at].u;
}

static void take_row(struct last_rows *l, const struct cursor *c, const char *series,
		     const union cell *row, double before_ns)
{
	double at_ns = number(c, row, "TimeNS"), seconds = (at_ns - before_ns) / 1e9;

	if (!strcmp(series, "Step"))
		l->at_ns = at_ns;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		double v;

		if (strcmp(columns[i].series, series) != 0)
			continue;
		v = number(c, row, columns[i].column) * columns[i].scale;
		if (columns[i].is_rate)
			v = seconds > 0 ? v / seconds : NAN;
		if (!isnan(v))
			l->v[columns[i].value] = v;
	}
}

/* The last row of a table, over the time since the one before. */
static void read_last(struct last_rows *l, struct cursor *c, const struct reader_node *n,
		      const char *series)
{
	const struct reader_series *s = node__series(n, series);
	const union cell *rows;
	double before_ns = NAN;
	unsigned got, seen = 0;

	if (!s || s->grouped || cursor__open(c, n, s, series) || !c->nrows)
		return;
	cursor__seek(c, c->nrows > 2 ? c->nrows - 2 : 0);
	while (cursor__next(c, &rows, &got) > 0)
		for (unsigned i = 0; i < got; i++, seen++) {
			const union cell *row = rows + (size_t)i * c->ncols;

			if (c->nrows == 1 || seen == 1)
				take_row(l, c, series, row, before_ns);
			before_ns = number(c, row, "TimeNS");
		}
}

static int read_node(struct last_rows *l, struct cursor *c, const struct reader *r, unsigned step,
		     unsigned node)
{
	struct reader_node *n = NULL;
	int err = reader__node(r, step, node, "Step", &n);

	if (err)
		return err;
	err = reader_node__series(n, "Energy");
	snprintf(l->step, sizeof(l->step), "%s", n->step);
	snprintf(l->node, sizeof(l->node), "%s", n->name);
	read_last(l, c, n, "Step");
	if (!err)
		read_last(l, c, n, "Energy");
	cursor__close(c);
	reader_node__free(n);
	return 0;
}

/* Puts the last rows of all nodes of a file; of one that cannot be read there are none. */
static int read_one(void *arg, unsigned item, struct message *result)
{
	const struct job_input *in = (const struct job_input *)arg + item;
	struct reader *r = NULL;
	struct cursor *c = NULL;
	int err = reader__open(&r, in->path);

	if (!err)
		err = cursor__new(&c);
	for (unsigned s = 0; !err && s < r->nsteps; s++)
		for (unsigned k = 0; k < r->steps[s].nodes.n; k++) {
			struct last_rows l = {.at_ns = NAN};

			for (unsigned i = 0; i < TOP_VALUES; i++)
				l.v[i] = NAN;
			if (!read_node(&l, c, r, s, k))
				message__put(result, &l, sizeof(l));
		}
	cursor__free(c);
	reader__free(r);
	return 0;
}

/* ---- files */

static void take_message(struct top_file *f, struct message *m)
{
	unsigned n = (unsigned)(m->len / sizeof(*f->v));
	const void *p;

	free(f->v);
	f->n = 0;
	f->v = calloc(n + 1, sizeof(*f->v));
	while (f->v && f->n < n && (p = message__take(m, sizeof(*f->v)))) {
		struct last_rows *l = &f->v[f->n++];

		memcpy(l, p, sizeof(*l));
		l->step[sizeof(l->step) - 1] = l->node[sizeof(l->node) - 1] = '\0';
	}
}

static char *path_in(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static struct top_file *find_file(struct top_files *files, const char *path)
{
	struct top_file *f;

	for (unsigned i = 0; i < files->n; i++)
		if (!strcmp(files->v[i].path, path))
			return &files->v[i];
	if (room__grow(&files->v, files->n, 1, sizeof(*files->v)))
		return NULL;
	f = &files->v[files->n];
	*f = (struct top_file){.path = strdup(path)};
	if (!f->path)
		return NULL;
	files->n++;
	return f;
}

static void drop_file(struct top_files *files, unsigned i)
{
	free(files->v[i].path);
	free(files->v[i].v);
	files->v[i] = files->v[--files->n];
}

/* Whether the file must be read: changed[] is the list of those. */
static bool has_changed(struct top_files *files, const char *path)
{
	struct top_file *f = find_file(files, path);
	struct stat st;

	if (!f || stat(path, &st))
		return false;
	f->seen = true;
	if (f->v && f->changed.tv_sec == st.st_mtim.tv_sec &&
	    f->changed.tv_nsec == st.st_mtim.tv_nsec)
		return false;
	f->changed = st.st_mtim;
	return true;
}

static int read_changed(struct top_files *files, struct job_input *changed, unsigned n)
{
	const struct pool_work work = {.work = read_one, .arg = changed, .nitems = n};
	struct pool *pool = NULL;
	struct message *m;
	int err = n ? pool__start(&pool, &work, WORKERS, &POOL_STREAM) : 0;

	for (unsigned i = 0; !err && i < n; i++) {
		struct top_file *f = find_file(files, changed[i].path);
		int one = pool__next(pool, &m);

		if (!one && f)
			take_message(f, m);
		else if (one == -EINTR)
			err = one;
	}
	pool__free(pool);
	return err;
}

/* ---- which files there are */

/* Adds the files of the job's running steps in a directory. Anybody can choose a file's name:
 * -ENOTUNIQ: there are files of several users, logged. */
static int add_running(struct string_list *paths, const struct top_source *from, const char *dir,
		       uid_t *owner)
{
	_cleanup_closedir_ DIR *d = opendir(dir);
	struct dirent *e;
	int err = 0;

	while (!err && d && (e = readdir(d))) {
		struct merge_name name;
		unsigned job = 0;
		struct stat st;

		if (merge_name__parse(e->d_name, &name) != NAME_RUNNING)
			continue;
		while (job < from->njobs && from->jobs[job] != name.job)
			job++;
		if (job == from->njobs || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (paths->n && st.st_uid != *owner) {
			log_error("job %u has files of several users, %s and %s/%s: -p names the "
				  "directory of one",
				  name.job, paths->v[0], dir, e->d_name);
			return -ENOTUNIQ;
		}
		*owner = st.st_uid;
		err = string_list__take(paths, path_in(dir, e->d_name));
	}
	return err;
}

/* The directory, and those in it. */
static int add_below(struct string_list *paths, const struct top_source *from, const char *where,
		     uid_t *owner)
{
	struct string_list dirs = {0};
	int err = profile_search__dirs(&dirs, where);

	for (unsigned i = 0; !err && i < dirs.n; i++)
		err = add_running(paths, from, dirs.v[i], owner);
	string_list__free(&dirs);
	return err;
}

/* In `where`; without, in the working directory, then in ProfileHDF5Dir. */
static int find_running(struct string_list *paths, const struct top_source *from)
{
	char *site = NULL;
	uid_t owner = 0;
	int err = add_below(paths, from, from->where ? from->where : ".", &owner);

	if (err || paths->n || from->where)
		return err;
	err = profile_dir__find(&site);
	if (!err)
		err = add_below(paths, from, site, &owner);
	else if (err == -ENOENT || err == -EINVAL)
		err = -ENOTUNIQ; /* logged */
	free(site);
	return err;
}

/* Finds the job's files, and reads those that have changed. 0; -ENOTUNIQ, logged; -errno. */
static int look(struct top_files *files, const struct top_source *from)
{
	struct string_list paths = {0};
	struct job_input *changed = NULL;
	int err = find_running(&paths, from);
	unsigned n = 0;

	if (!err)
		changed = calloc(paths.n + 1, sizeof(*changed));
	if (!err && !changed)
		err = -ENOMEM;
	for (unsigned i = 0; i < files->n; i++)
		files->v[i].seen = false;
	for (unsigned i = 0; !err && i < paths.n; i++)
		if (has_changed(files, paths.v[i]))
			changed[n++].path = paths.v[i];
	for (unsigned i = files->n; !err && i-- > 0;)
		if (!files->v[i].seen)
			drop_file(files, i);
	if (!err)
		err = read_changed(files, changed, n);
	free(changed);
	string_list__free(&paths);
	return err;
}

/* ---- rows */

static struct top_row *node_row(struct top_rows *rows, const struct last_rows *l)
{
	struct top_row *row;

	for (unsigned i = 0; i < rows->n; i++)
		if (!strcmp(rows->v[i].key, l->node))
			return &rows->v[i];
	row = top_rows__add(rows, TOP_JOB, TOP_NONE);
	if (row) {
		snprintf(row->id, sizeof(row->id), "%s", l->node);
		snprintf(row->key, sizeof(row->key), "%s", l->node);
	}
	return row;
}

/* The steps of a node add up; a step whose last row is much older than another's has ended. */
static void add_node_step(struct top_rows *rows, const struct last_rows *l, double now_ns)
{
	struct top_row *row = isnan(l->at_ns) ? NULL : node_row(rows, l);
	double age = (now_ns - l->at_ns) / 1e9;

	if (!row)
		return;
	for (unsigned k = 0; k < TOP_AGE; k++)
		if (k == TOP_ELAPSED || k == TOP_LIMIT)
			row->v[k] = row->has_rows ? fmax(row->v[k], l->v[k]) : l->v[k];
		else
			row->v[k] = row->has_rows ? row->v[k] + l->v[k] : l->v[k];
	row->v[TOP_AGE] = row->has_rows ? fmin(row->v[TOP_AGE], age) : age;
	row->has_rows = true;
	snprintf(row->name + strlen(row->name), sizeof(row->name) - strlen(row->name), "%s%s",
		 row->name[0] ? ", " : "", l->step);
}

int top_files__look(struct top_files *files, struct top_rows *r, const struct top_source *from)
{
	double now_ns = (double)clock__real_ns();
	int err = look(files, from);

	if (err)
		return err;
	top_rows__free(r);
	for (unsigned i = 0; i < files->n; i++)
		for (unsigned k = 0; k < files->v[i].n; k++)
			add_node_step(r, &files->v[i].v[k], now_ns);
	return r->no_memory ? -ENOMEM : 0;
}

void top_files__free(struct top_files *files)
{
	while (files->n)
		drop_file(files, files->n - 1);
	free(files->v);
	files->v = NULL;
}
