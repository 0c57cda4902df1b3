/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds profiles that are new or changed, has them read, and stores their rows. */
#include "index/scan.h"

#include <errno.h>
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
#include "index/claim.h"
#include "index/known_files.h"
#include "jobfile/profile_search.h"

#define BATCH	 500	     /* jobs per transaction */
#define WAITING	 (64u << 20) /* bytes of rows that wait for a transaction, roughly */
#define RECENT_S 2 /* a directory that changed less long ago may change again at the same time */

struct scan_file {
	char *path;
	uint32_t job; /* from its name; 0: none */
	double mtime_s, ctime_s, size, bytes;
	uid_t uid;
	enum known_state state;
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
	struct known_files known;
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

/* ---- what is in a directory now */

static void free_scanning(struct scanning *s)
{
	for (unsigned i = 0; i < s->nfiles; i++)
		free(s->files[i].path);
	free(s->files);
	known_files__free(&s->known);
}

/* Adds a file, and owns its path. What cannot be seen, or is not a regular file, is left out. */
static int add_file(struct scanning *s, char *path)
{
	struct scan_file f = {.path = path, .job = profile_name__job(path)};
	struct stat st;
	bool is_file =
		!lstat(path, &st) && S_ISREG(st.st_mode) && (!s->o->own || st.st_uid == getuid());

	if (is_file && !known_files__may_have(path)) {
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
	f.state = known_files__state(&s->known, path, f.mtime_s, f.size);
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

/* Notes that all of the directory is read, or that its turn is over. */
static int end_directory(struct scanning *s, double mtime_s, double looked_s)
{
	int err = index__begin(s->ix);

	if (err)
		return err;
	err = known_files__forget_gone(&s->known, s->ix, &s->res->gone);
	if (!err)
		err = known_dir__note(s->ix, s->dir, s->has_left ? NAN : mtime_s, looked_s);
	return index__end(s->ix, err);
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

/* ---- one job */

static double last_change(const struct scan_file *f, unsigned n)
{
	double last = 0;

	for (unsigned i = 0; i < n; i++)
		last = fmax(last, f[i].mtime_s);
	return last;
}

static int note(struct scanning *s, const struct scan_file *f, const char *state, const char *why)
{
	const struct known_file known = {.path = f->path, .mtime_s = f->mtime_s, .size = f->size};

	return known_file__note(s->ix, s->dir, &known, f->uid, state, why);
}

/* Another program has killed who read it, as the kernel does where memory is short. It is read once
 * more: who is killed by it each time would be killed without end. */
static int note_killed(struct scanning *s, const struct scan_file *f, unsigned n)
{
	static const char why[] = "the process that read it was killed";
	struct scan_file first = *f;

	if (f->state != FILE_AGAIN) {
		first.mtime_s = NAN;
		s->res->files -= n;
		s->has_left = s->res->more = true;
		return note(s, &first, "unreadable", why);
	}
	add_failure(s, f->path, why);
	s->res->unreadable++;
	return note(s, f, "unreadable", why);
}

static int refuse(struct scanning *s, const struct scan_file *f, const char *why)
{
	add_failure(s, f->path, why);
	s->res->refused++;
	return note(s, f, "refused", why);
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

	for (unsigned i = 0; !err && i < n; i++)
		err = known_file__forget(s->ix, f[i].path);
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
	if (!found->has_row && !why)
		return note_killed(s, f, s->batch->nfiles[found->job]);
	if (!found->has_row || !row__has_key(r)) {
		why = why ? why : "it does not say its job or when that began";
		add_failure(s, f->path, why);
		s->res->unreadable++;
		return note(s, f, "unreadable", why);
	}
	claim__name_of_user(j->uid, user, sizeof(user));
	claim = (struct claim){f->job, f->uid, user, last_change(f, s->batch->nfiles[found->job])};
	claim__find_lie(reason, sizeof(reason), r, &claim);
	if (*reason)
		return refuse(s, f, reason);
	free(r->text[INDEX_user]); /* the user is the owner of the file */
	r->text[INDEX_user] = NULL;
	if (privacy_past__has(past, user, r->number[INDEX_start], &s->res->left))
		return note(s, f, "read", "its job is older than the rows that the index stores");
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
		err = note(s, &b->files[job][k], "read", NULL);
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
	err = index__end(s->ix, err);
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
	return turn__count(&s->place->turn,
			   !r && !is_gone(s->batch->files[n], s->batch->nfiles[n]));
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
	if (!known_files__may_have(dir))
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
	err = known_dir__is_same(s.ix, dir, seconds(&st.st_mtim), &same);
	if (err || same)
		return err;
	err = known_files__load(&s.known, s.ix, dir);
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

/* The rest of them, where the turn ends before. */
static int scan_restarts(struct round *r, struct place *p, bool looked)
{
	struct string_list dirs = {0};
	int err = known_dir__restarts(r->ix, p->path, looked, &dirs);
	bool is_new;

	for (unsigned i = 0; !err && !r->res->more && i < dirs.n; i++)
		err = scan_directory(r, p, dirs.v[i], &is_new);
	string_list__free(&dirs);
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
	if (!err && !is_others && !is_top && !known_dir__is_for_restarts(p->path) && !r->res->more)
		err = scan_restarts(r, p, looked);
	if (!err && r->res->more && looked)
		err = known_dir__look_again(r->ix, p->path, false);
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
		err = known_dir__look_again(ix, path, true);
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
