/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds profiles that are new or changed, has them read, and stores their rows. */
#include "index/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/read_note.h"
#include "base/room.h"
#include "base/utf8.h"
#include "index/claim.h"
#include "jobfile/profile_search.h"

#define BATCH	 500	     /* jobs per transaction */
#define WAITING	 (64u << 20) /* bytes of rows that wait for a transaction, roughly */
#define RECENT_S 2 /* a directory that changed less long ago may change again at the same time */

enum file_state { FILE_NEW, FILE_CHANGED, FILE_KNOWN };

struct scan_file {
	char *path;
	uint32_t job; /* from its name; 0: none */
	double mtime_s, ctime_s, size, bytes;
	uid_t uid;
	enum file_state state;
};

/* A file that the index knows. */
struct known {
	char *path;
	double mtime_s, size; /* NaN: it is to be read again */
	bool is_there;
};

/* What was read of a job of the batch; without a row, why. */
struct found {
	unsigned job;
	bool has_row;
	struct row row;
	char *why;
};

/* A directory that is looked into, with those for earlier runs in it. */
struct place {
	char *path;
	bool is_done;
	struct read_turn turn;
	unsigned long failed; /* files that are refused or cannot be read */
	char *example;	      /* the first of them, and why */
};

struct scanning {
	struct index *ix;
	const struct scan_options *o;
	struct scan_result *res;
	struct place *place;
	double late_s; /* what has changed since is for the next call; NaN: nothing is */
	const char *dir;
	bool has_left; /* files are left for later */
	struct scan_file *files;
	unsigned nfiles;
	struct known *known;
	unsigned nknown;
	struct batch *batch; /* what is being read */
	unsigned taken;	     /* jobs of the batch that are read */
	unsigned written;    /* and those whose rows are stored */
	struct found *found; /* of further jobs */
	unsigned nfound;
	size_t waiting; /* bytes of found */
	double began_s;
	bool said; /* progress was printed */
};

/* Jobs of one owner. The files of a job include those that are not read because it has a job
 * file. */
struct batch {
	struct scan_job jobs[BATCH];
	const struct scan_file *files[BATCH];
	unsigned nfiles[BATCH];
	unsigned n;
};

/* They are named together, when the directory is done. */
static void add_failure(struct scanning *s, const char *path, const char *why)
{
	struct place *p = s->place;

	if (!p->failed++ && asprintf(&p->example, "%s: %s", path, why) < 0)
		p->example = NULL;
}

static double seconds(const struct timespec *t)
{
	return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

/* ---- what is known of a directory */

/* *same: the directory has not changed since it was last read. */
static int is_unchanged(struct scanning *s, double mtime_s, bool *same)
{
	const struct db_value path = db_value__text(s->dir);
	int err;
	double known =
		db__number(s->ix->db, &err, "SELECT mtime FROM directory WHERE path = ?", &path, 1);

	*same = fabs(known - mtime_s) < 1e-6;
	return err;
}

/* Notes when the directory changed. A change just before the scan is not noted, since another one
 * may have the same time: the next scan then reads all. */
static int note_directory(struct scanning *s, double mtime_s, double looked_s)
{
	const struct db_value args[] = {
		db_value__text(s->dir),
		db_value__real(looked_s - mtime_s > RECENT_S ? mtime_s : NAN)};

	return db__run(s->ix->db,
		       "INSERT INTO directory (path, mtime) VALUES (?, ?) "
		       "ON CONFLICT (path) DO UPDATE SET mtime = excluded.mtime",
		       args, 2);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->path, ((const struct known *)b)->path);
}

static int load_known(struct scanning *s)
{
	const struct db_value dir = db_value__text(s->dir);
	struct db_rows r;
	int err = db__ask(&r, s->ix->db,
			  "SELECT path, mtime, size FROM file WHERE directory = ? ORDER BY path",
			  &dir, 1);

	while (!err && db_rows__next(&r)) {
		struct known k = {strdup(r.v[0].text), db_value__number(&r.v[1]),
				  db_value__number(&r.v[2]), false};

		if (!k.path || room__grow(&s->known, s->nknown, 1, sizeof(k))) {
			free(k.path);
			err = -ENOMEM;
		} else {
			s->known[s->nknown++] = k;
		}
	}
	err = err ? err : r.err;
	db_rows__end(&r);
	return err;
}

static void free_scanning(struct scanning *s)
{
	for (unsigned i = 0; i < s->nfiles; i++)
		free(s->files[i].path);
	for (unsigned i = 0; i < s->nknown; i++)
		free(s->known[i].path);
	free(s->files);
	free(s->known);
}

/* ---- what is in it now */

static enum file_state state_of(struct scanning *s, const struct scan_file *f)
{
	const struct known key = {.path = f->path};
	struct known *k =
		s->nknown ? bsearch(&key, s->known, s->nknown, sizeof(key), by_path) : NULL;

	if (k)
		k->is_there = true;
	if (!k || isnan(k->mtime_s))
		return FILE_NEW;
	return fabs(k->mtime_s - f->mtime_s) > 1e-6 || k->size != f->size ? FILE_CHANGED
									  : FILE_KNOWN;
}

/* Whether the database can store such a path. */
static bool is_text(const char *path)
{
	unsigned replaced = 1;
	char *same = strlen(path) <= DB_PATH_MAX ? utf8__clean(path, SIZE_MAX, &replaced) : NULL;

	free(same);
	return !replaced;
}

/* Adds a file, and owns its path. What cannot be seen, or is not a regular file, is left out. */
static int add_file(struct scanning *s, char *path)
{
	struct scan_file f = {.path = path, .job = profile_name__job(path)};
	struct stat st;
	bool is_file =
		!lstat(path, &st) && S_ISREG(st.st_mode) && (!s->o->own || st.st_uid == getuid());

	if (is_file && !is_text(path)) {
		if (!s->place->turn.round) {
			add_failure(s, path, "its name is too long, or not in UTF-8");
			s->res->unreadable++;
		}
		is_file = false;
	}
	if (!is_file) {
		free(path);
		return 0;
	}
	f.mtime_s = seconds(&st.st_mtim);
	f.ctime_s = seconds(&st.st_ctim);
	f.size = (double)st.st_size;
	f.bytes = (double)read_note__file_bytes(&st);
	f.uid = st.st_uid;
	f.state = state_of(s, &f);
	if (room__grow(&s->files, s->nfiles, 1, sizeof(f))) {
		free(path);
		return -ENOMEM;
	}
	s->files[s->nfiles++] = f;
	return 0;
}

static int list_files(struct scanning *s)
{
	struct profile_files found = {0};
	int err = profile_search__files(&found, s->dir,
					PROFILE_NAME_JOB | PROFILE_NAME_USUAL |
						PROFILE_NAME_UNUSUAL | PROFILE_NAME_RESTART,
					NULL, 0);

	for (unsigned i = 0; !err && i < found.n; i++) {
		err = add_file(s, found.v[i].path);
		found.v[i].path = NULL;
	}
	profile_files__free(&found);
	return err;
}

/* Forgets files that do not exist any more: they were merged or removed, and their jobs stay. */
static int forget_gone(struct scanning *s)
{
	int err = 0;

	for (unsigned i = 0; !err && i < s->nknown; i++) {
		const struct db_value path = db_value__text(s->known[i].path);

		if (s->known[i].is_there)
			continue;
		s->res->gone++;
		err = db__run(s->ix->db, "DELETE FROM file WHERE path = ?", &path, 1);
	}
	return err;
}

/* Notes that all of the directory is read, or that its turn is over. */
static int end_directory(struct scanning *s, double mtime_s, double looked_s)
{
	int err = index__begin(s->ix);

	if (err)
		return err;
	err = forget_gone(s);
	if (!err)
		err = note_directory(s, s->has_left ? NAN : mtime_s, looked_s);
	if (!err)
		return index__commit(s->ix);
	index__rollback(s->ix);
	return err;
}

/* ---- files of one job */

static int by_job(const void *a, const void *b)
{
	const struct scan_file *x = a, *y = b;

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return strverscmp(x->path, y->path);
}

static unsigned files_of_job(const struct scanning *s, unsigned from)
{
	const struct scan_file *f = &s->files[from];
	unsigned n = 1;

	while (f->job && from + n < s->nfiles && s->files[from + n].job == f->job &&
	       s->files[from + n].uid == f->uid)
		n++;
	return n;
}

static bool is_to_be_read(const struct scan_file *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (f[i].state != FILE_KNOWN)
			return true;
	return false;
}

/* Else who changes files without end would be read without end. */
static bool is_late(const struct scanning *s, const struct scan_file *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (f[i].ctime_s > s->late_s)
			return true;
	return false;
}

/* Adds the job of these files: if there is a job file, only that is read. */
static int add_job(struct batch *b, const struct scan_file *f, unsigned n)
{
	struct scan_job *j = &b->jobs[b->n];

	*j = (struct scan_job){.paths = calloc(n, sizeof(*j->paths)),
			       .uid = f->uid,
			       .mtime_s = f->mtime_s,
			       .is_of_many = true};
	if (!j->paths)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		if (profile_name__is_job_file(f[i].path)) {
			j->mtime_s = j->n ? j->mtime_s : f[i].mtime_s;
			j->paths[j->n++] = f[i].path;
		}
	for (unsigned i = 0; !j->n && i < n; i++)
		j->paths[i] = f[i].path;
	if (!j->n)
		j->n = n;
	for (unsigned i = 0; i < n; i++)
		j->bytes += f[i].bytes;
	b->files[b->n] = f;
	b->nfiles[b->n++] = n;
	return 0;
}

static void empty(struct batch *b)
{
	while (b->n)
		free(b->jobs[--b->n].paths);
}

static int note_file(struct scanning *s, const struct scan_file *f, const char *state,
		     const char *why)
{
	const struct db_value args[] = {
		db_value__text(f->path), db_value__text(s->dir), db_value__real(f->mtime_s),
		db_value__real(f->size), db_value__int(f->uid),	 db_value__text(state),
		db_value__text(why),
	};

	return db__run(s->ix->db,
		       "INSERT INTO file (path, directory, mtime, size, uid, state, why) "
		       "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
		       "mtime = excluded.mtime, size = excluded.size, uid = excluded.uid, "
		       "state = excluded.state, why = excluded.why",
		       args, sizeof(args) / sizeof(*args));
}

/* ---- one job */

static double last_change(const struct scan_file *f, unsigned n)
{
	double last = 0;

	for (unsigned i = 0; i < n; i++)
		last = fmax(last, f[i].mtime_s);
	return last;
}

static int refuse(struct scanning *s, const struct scan_file *f, const char *why)
{
	add_failure(s, f->path, why);
	s->res->refused++;
	return note_file(s, f, "refused", why);
}

/* Whether a file of the job is gone since the directory was listed, as when it was merged. */
static bool is_gone(const struct scan_file *f, unsigned n)
{
	struct stat st;

	for (unsigned i = 0; i < n; i++)
		if (lstat(f[i].path, &st) && errno == ENOENT)
			return true;
	return false;
}

/* What is left of them is new at the next look. */
static int forget_files(struct scanning *s, const struct scan_file *f, unsigned n)
{
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++) {
		const struct db_value path = db_value__text(f[i].path);

		err = db__run(s->ix->db, "DELETE FROM file WHERE path = ?", &path, 1);
	}
	return err;
}

/* Stores the row of a job, or notes why it has none. */
static int put_found(struct scanning *s, struct found *found, struct privacy_past *past)
{
	const struct scan_job *j = &s->batch->jobs[found->job];
	const struct scan_file *f = s->batch->files[found->job];
	struct row *r = &found->row;
	char user[256], reason[256];
	const char *why = found->why;
	struct claim claim;
	int err;
	struct index_source from = {ROW_SOURCE_PROFILE,	      f->path,
				    .cluster = s->o->cluster, .user = user,
				    .mtime_s = f->mtime_s,    .changed = f->state == FILE_CHANGED};

	if (!found->has_row && is_gone(f, s->batch->nfiles[found->job]))
		return forget_files(s, f, s->batch->nfiles[found->job]);
	if (!found->has_row || !row__has_key(r)) {
		why = why ? why : "it does not say its job or when that began";
		add_failure(s, f->path, why);
		s->res->unreadable++;
		return note_file(s, f, "unreadable", why);
	}
	claim__name_of_user(j->uid, user, sizeof(user));
	claim = (struct claim){f->job, f->uid, user, last_change(f, s->batch->nfiles[found->job])};
	claim__find_lie(reason, sizeof(reason), r, &claim);
	if (*reason)
		return refuse(s, f, reason);
	free(r->text[INDEX_user]); /* the user is the owner of the file */
	r->text[INDEX_user] = NULL;
	if (privacy_past__has(past, user, r->number[INDEX_start], &s->res->left))
		return note_file(s, f, "read",
				 "its job is older than the rows that the index stores");
	err = index__put(s->ix, r, &from);
	if (err == -EPERM)
		return refuse(s, f, INDEX_OTHERS);
	s->res->jobs++;
	return err;
}

static int note_files(struct scanning *s, unsigned job)
{
	const struct batch *b = s->batch;
	int err = 0;

	for (unsigned k = 0; !err && k < b->nfiles[job]; k++) {
		s->res->files++;
		err = note_file(s, &b->files[job][k], "read", NULL);
	}
	return err;
}

static void free_found(struct scanning *s)
{
	for (unsigned i = 0; i < s->nfound; i++) {
		row__free(&s->found[i].row);
		free(s->found[i].why);
	}
	free(s->found);
	s->found = NULL;
	s->nfound = 0;
	s->waiting = 0;
}

/* Stores the jobs of the batch before this one, in one transaction: if the process ends before the
 * commit, the files stay unknown and are read again. */
static int write_until(struct scanning *s, unsigned job)
{
	struct privacy_past past;
	int err = s->written < job ? index__begin(s->ix) : 0;

	if (err || s->written == job)
		return err;
	err = privacy_past__load(&past, s->ix);
	for (unsigned i = s->written; !err && i < job; i++)
		err = note_files(s, i);
	for (unsigned i = 0; !err && i < s->nfound; i++)
		err = put_found(s, &s->found[i], &past);
	if (!err)
		err = privacy_past__rename(&past, s->ix);
	privacy_past__free(&past);
	if (!err)
		err = index__commit(s->ix);
	else
		index__rollback(s->ix);
	s->written = job;
	free_found(s);
	return err;
}

static size_t bytes_of(const struct row *r)
{
	size_t n = sizeof(struct found) + r->nfindings * sizeof(*r->findings);

	for (int i = 0; i < N_INDEX; i++)
		n += r->text[i] ? strlen(r->text[i]) : 0;
	for (unsigned i = 0; i < r->nfindings; i++)
		n += strlen(r->findings[i].text) + strlen(r->findings[i].remedy) +
		     strlen(r->findings[i].where);
	for (unsigned i = 0; i < r->nodes.n; i++)
		n += strlen(r->nodes.v[i]) + sizeof(char *);
	for (unsigned i = 0; i < r->node_rows.n; i++)
		n += (size_t)r->node_rows.v[i].n * N_NODE_VALUES * sizeof(int32_t);
	return n;
}

/* Prints how many profiles are read: once, on a terminal, after the first second. */
static void say_progress(struct scanning *s)
{
	unsigned n = 0;

	if (s->said || (double)time(NULL) - s->began_s <= 1 || !isatty(STDERR_FILENO))
		return;
	for (unsigned i = 0; i < s->nfiles; i++)
		n += s->files[i].state != FILE_KNOWN;
	fprintf(stderr, "%s: reading %u profiles...\n", s->dir, n);
	s->said = true;
}

/* Takes a row of a job, or why it has none. Other processes may write while files are read. Returns
 * 1 where the turn is over. */
static int take_row(void *arg, unsigned n, struct row *r, const char *why)
{
	struct scanning *s = arg;
	const bool is_next = !s->nfound || s->found[s->nfound - 1].job != n;
	struct found f = {.job = n, .has_row = r != NULL, .why = why ? strdup(why) : NULL};
	int err = s->waiting > WAITING && is_next ? write_until(s, n) : 0;

	say_progress(s);
	if (!err)
		err = room__grow(&s->found, s->nfound, 1, sizeof(f));
	if (err) {
		free(f.why);
		return err;
	}
	row__init(&f.row);
	if (r) {
		s->waiting += bytes_of(r);
		f.row = *r;
		row__init(r);
	}
	s->found[s->nfound++] = f;
	s->taken = n + 1;
	return turn__count(&s->place->turn, !r);
}

static int read_batch(struct scanning *s)
{
	int err = 0;

	s->written = s->taken = 0;
	if (s->batch->n)
		err = s->o->read(s->batch->jobs, s->batch->n, take_row, s);
	if (err >= 0) {
		if (s->taken < s->batch->n)
			s->has_left = s->res->more = true;
		err = write_until(s, s->taken);
	}
	free_found(s);
	empty(s->batch);
	return err;
}

/* Whether the job of the files from i on is to be read in this round. */
static bool is_now(struct scanning *s, unsigned i, unsigned n)
{
	enum turn_answer is;

	if (is_late(s, &s->files[i], n))
		return false;
	is = turn__ask(&s->place->turn, s->files[i].uid);
	s->res->more |= is == TURN_LATER;
	return is == TURN_READ;
}

/* Reads what is new. A batch has one owner, whose rights the children take that read it. */
static int read_new(struct scanning *s)
{
	struct batch *b = s->batch;
	unsigned n;
	int err = 0;

	s->began_s = (double)time(NULL);
	if (s->nfiles)
		qsort(s->files, s->nfiles, sizeof(*s->files), by_job);
	for (unsigned i = 0; !err && i < s->nfiles; i += n) {
		n = files_of_job(s, i);
		if (!is_to_be_read(&s->files[i], n))
			continue;
		if (b->n == BATCH || (b->n && b->jobs[0].uid != s->files[i].uid))
			err = read_batch(s);
		if (!err && !is_now(s, i, n))
			s->has_left = true;
		else if (!err)
			err = add_job(b, &s->files[i], n);
	}
	if (!err)
		err = read_batch(s);
	empty(b);
	return err;
}

/* ---- directories */

/* Once through all directories. */
struct round {
	struct index *ix;
	const struct scan_options *o;
	struct scan_result *res;
	double late_s; /* as in struct scanning */
};

/* Counts a directory that cannot be read now: it is not an empty one. */
static bool is_readable(const char *dir, struct scan_result *res)
{
	if (!is_text(dir))
		log_error("%s: its name is longer than %d bytes, or not in UTF-8", dir,
			  DB_PATH_MAX);
	else if (access(dir, R_OK | X_OK))
		log_error("%s: %s", dir, strerror(errno));
	else
		return true;
	res->unreadable++;
	return false;
}

/* *looked: the directory had changed, and was read. */
static int scan_directory(struct round *r, struct place *p, const char *dir, bool *looked)
{
	struct batch b = {.n = 0};
	struct scanning s = {.ix = r->ix,
			     .o = r->o,
			     .res = r->res,
			     .place = p,
			     .late_s = r->late_s,
			     .dir = dir,
			     .batch = &b};
	double looked_s;
	struct timespec now;
	struct stat st;
	bool same = false;
	int err;

	*looked = false;
	clock_gettime(CLOCK_REALTIME, &now);
	looked_s = seconds(&now);
	if (stat(dir, &st)) {
		log_error("%s: %s", dir, strerror(errno));
		return 0;
	}
	if (!is_readable(dir, r->res))
		return 0;
	err = is_unchanged(&s, seconds(&st.st_mtim), &same);
	if (err || same)
		return err;
	err = load_known(&s);
	if (!err)
		err = list_files(&s);
	if (!err)
		err = read_new(&s);
	if (!err)
		err = end_directory(&s, seconds(&st.st_mtim), looked_s);
	free_scanning(&s);
	*looked = true;
	return err;
}

/* Whether the path ends in restart<n>, where the runs of a job before a requeue are. */
static bool is_for_restarts(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "restart", 7) && name[7] &&
	       strspn(name + 7, "0123456789") == strlen(name + 7);
}

/* Lists the restart<n> of a directory: as they are now if that was read, else those that the index
 * knows. */
static int restarts_in(struct index *ix, const char *dir, bool looked, struct string_list *found)
{
	struct string_list all = {0};
	char from[4096 + 16];
	const struct db_value args[] = {db_value__text(from), db_value__text(from)};
	struct db_rows r;
	int err;

	if (looked) {
		err = profile_search__dirs(&all, dir);
		for (unsigned i = 1; !err && i < all.n; i++)
			if (is_for_restarts(all.v[i]))
				err = string_list__append(found, all.v[i]);
		string_list__free(&all);
		return err;
	}
	snprintf(from, sizeof(from), "%s/restart", dir);
	err = db__ask(&r, ix->db,
		      "SELECT path FROM directory WHERE path > ? AND path < ? || '~' ORDER BY path",
		      args, 2);
	while (!err && db_rows__next(&r))
		if (is_for_restarts(r.v[0].text))
			err = string_list__append(found, r.v[0].text);
	err = err ? err : r.err;
	db_rows__end(&r);
	return err;
}

/* The rest of them, where the turn ends before. */
static int scan_restarts(struct round *r, struct place *p, bool looked)
{
	struct string_list dirs = {0};
	int err = restarts_in(r->ix, p->path, looked, &dirs);
	bool is_new;

	for (unsigned i = 0; !err && !r->res->more && i < dirs.n; i++)
		err = scan_directory(r, p, dirs.v[i], &is_new);
	string_list__free(&dirs);
	return err;
}

/* The next look at a directory is whole; all: also at those in it, and known files are read again.
 */
static int look_again(struct index *ix, const char *dir, bool all)
{
	static const char *const sql[] = {
		"UPDATE directory SET mtime = NULL WHERE path = ?",
		"UPDATE directory SET mtime = NULL WHERE path > ? || '/' AND path < ? || '0'",
		"UPDATE file SET mtime = NULL WHERE directory = ?",
		"UPDATE file SET mtime = NULL WHERE directory > ? || '/' AND directory < ? || '0'"};
	const struct db_value args[] = {db_value__text(dir), db_value__text(dir)};
	const unsigned n = all ? sizeof(sql) / sizeof(*sql) : 1;
	int err = index__begin(ix);

	if (err)
		return err;
	for (unsigned i = 0; !err && i < n; i++)
		err = db__run(ix->db, sql[i], args, 1 + i % 2);
	if (!err)
		return index__commit(ix);
	index__rollback(ix);
	return err;
}

/* One line. */
static void say_failures(struct place *p)
{
	if (p->failed == 1)
		log_error("%s: it is refused", p->example ? p->example : p->path);
	else if (p->failed)
		log_error("%s: %lu files are refused or cannot be read, as %s; jobprof index check "
			  "--verbose names all",
			  p->path, p->failed, p->example ? p->example : "one of them");
	free(p->example);
	p->example = NULL;
	p->failed = 0;
}

/* Gives a directory its turn. */
static int scan_place(struct round *r, struct place *p, bool is_top)
{
	const bool more = r->res->more;
	struct stat st;
	const bool is_others = r->o->own && !is_top && !stat(p->path, &st) && st.st_uid != getuid();
	bool looked = false;
	int err = 0;

	p->turn = (struct read_turn){.waits = r->o->waits, .round = p->turn.round};
	r->res->more = false;
	if (!is_others)
		err = scan_directory(r, p, p->path, &looked);
	/* The other places are those of the first directory, too. */
	if (!err && !is_others && !is_top && !is_for_restarts(p->path) && !r->res->more)
		err = scan_restarts(r, p, looked);
	if (!err && r->res->more && looked)
		err = look_again(r->ix, p->path, false);
	p->is_done = !r->res->more;
	p->turn.round++;
	r->res->more |= more;
	if (p->is_done || r->o->waits)
		say_failures(p);
	return err;
}

/* In rounds, until all are done. */
static int scan_places(struct round *r, struct place *places, unsigned n)
{
	struct timespec now;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	do {
		r->res->more = false;
		for (unsigned i = 0; !err && i < n; i++)
			if (!places[i].is_done)
				err = scan_place(r, &places[i], !i);
		r->late_s = seconds(&now);
	} while (!err && r->res->more && !r->o->waits);
	return err;
}

int scan__path(struct index *ix, const char *path, const struct scan_options *o,
	       struct scan_result *res)
{
	struct string_list dirs = {0};
	struct round r = {ix, o, res, NAN};
	int err = profile_search__dirs(&dirs, path);
	struct place *places = err ? NULL : calloc(dirs.n, sizeof(*places));
	const bool more = res->more;

	err = err || places ? err : -ENOMEM;
	db__share(ix->db);
	if (!err && o->all)
		err = look_again(ix, path, true);
	for (unsigned i = 0; !err && i < dirs.n; i++)
		places[i] = (struct place){.path = dirs.v[i], .turn.round = o->round};
	if (!err)
		err = scan_places(&r, places, dirs.n);
	for (unsigned i = 0; places && i < dirs.n; i++)
		say_failures(&places[i]);
	free(places);
	string_list__free(&dirs);
	res->more |= more;
	return err ? err : index__settle(ix);
}
