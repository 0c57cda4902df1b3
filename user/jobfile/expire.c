/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes the profiles of one user that a site does not keep any longer. */
#include "jobfile/expire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "base/string_list.h"
#include "jobfile/merge/merge_name.h"

#define STUCK_S 120
#define DIGITS	"0123456789"

enum item_kind { ITEM_NODE, ITEM_JOB, ITEM_DOT };

struct item {
	char *name;
	unsigned place; /* index of its directory */
	uint32_t job;
	enum item_kind kind;
	bool is_foreign; /* st is not of a file that may go */
	struct stat st;
};

/* The files of a job in one directory: items from .. from+n. */
struct set {
	unsigned from, n;
	double changed_s; /* the last one */
	uint64_t bytes;
};

struct expiry {
	struct expire_result *r;
	const struct expire_rules *rules;
	const char *where;
	int dir;
	struct stat st;		   /* of the directory */
	struct string_list places; /* "" is the directory itself, the others are in it */
	struct item *items;
	unsigned nitems;
	struct set *sets;
	unsigned nsets;
	int fd; /* of the place that was opened last; -1: none */
	unsigned at;
};

static uint64_t disk_bytes(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

/* ---- names */

/* job_<id>.h5 and job_<id>.restart<n>.h5 */
static bool is_job_file(const char *name, uint32_t *job)
{
	const size_t n = str__starts(name, "job_") ? strspn(name + 4, DIGITS) : 0;
	const char *end = name + 4 + n;
	char digits[16];

	if (!n || n >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)n, name + 4);
	if (str__starts(end, ".restart") && strspn(end + 8, DIGITS))
		end += 8 + strspn(end + 8, DIGITS);
	return !strcmp(end, ".h5") && !parse_u32(digits, job);
}

/* Files that begin with a dot are those of running steps and of writers and merges at work. */
static bool is_dot_file(const char *name, uint32_t *job)
{
	const char *at = name + 1 + (str__starts(name + 1, "job_") ? 4 : 0);
	const size_t n = strspn(at, DIGITS);
	char digits[16];

	if (!n || n >= sizeof(digits) || !strstr(at, ".h5"))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)n, at);
	return !parse_u32(digits, job);
}

/* Whether the name is one of a profile; *it is what it says. */
static bool parse_name(struct item *it, const char *name)
{
	struct merge_name m;

	if (*name == '.') {
		it->kind = ITEM_DOT;
		return is_dot_file(name, &it->job);
	}
	if (merge_name__parse(name, &m) == NAME_FILE) {
		it->kind = ITEM_NODE;
		it->job = m.job;
		return true;
	}
	it->kind = ITEM_JOB;
	return is_job_file(name, &it->job);
}

static bool is_for_restart(const char *name)
{
	return str__starts(name, "restart") && name[7] && !name[7 + strspn(name + 7, DIGITS)];
}

/* ---- what is there */

static bool is_own_file(const struct expiry *e, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == e->st.st_uid && st->st_nlink == 1;
}

static int add_item(struct expiry *e, int fd, const char *name)
{
	struct item it = {.place = e->places.n - 1};

	if (!parse_name(&it, name) || fstatat(fd, name, &it.st, AT_SYMLINK_NOFOLLOW))
		return 0;
	it.is_foreign = !is_own_file(e, &it.st);
	it.name = strdup(name);
	if (!it.name || room__grow(&e->items, e->nitems, 1, sizeof(it))) {
		free(it.name);
		return -ENOMEM;
	}
	e->items[e->nitems++] = it;
	if (S_ISREG(it.st.st_mode) && it.st.st_uid == e->st.st_uid) {
		e->r->left.files++;
		e->r->left.bytes += disk_bytes(&it.st);
	}
	return 0;
}

/* Reads a directory; restarts: names in it to read later, or NULL. */
static int read_names(struct expiry *e, int fd, struct string_list *restarts)
{
	const int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int err = d ? 0 : -errno;

	if (!d && copy >= 0)
		close(copy);
	while (!err && d && (errno = 0, entry = readdir(d))) {
		alarm(STUCK_S);
		if (restarts && is_for_restart(entry->d_name))
			err = string_list__append(restarts, entry->d_name);
		else
			err = add_item(e, fd, entry->d_name);
	}
	return err ? err : -errno;
}

/* Opens a place, which may be another directory by now. A descriptor of e, or -errno. */
static int open_place(struct expiry *e, unsigned i)
{
	struct stat st;

	if (!i)
		return e->dir;
	if (e->fd >= 0 && e->at == i)
		return e->fd;
	if (e->fd >= 0)
		close(e->fd);
	e->at = i;
	e->fd = openat(e->dir, e->places.v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (e->fd < 0)
		return -errno;
	if (!fstat(e->fd, &st) && st.st_uid == e->st.st_uid && st.st_dev == e->st.st_dev)
		return e->fd;
	close(e->fd);
	e->fd = -1;
	return -EPERM;
}

static int read_places(struct expiry *e)
{
	struct string_list restarts = {0};
	int err = string_list__append(&e->places, ""), fd;

	if (!err)
		err = read_names(e, e->dir, &restarts);
	for (unsigned i = 0; !err && i < restarts.n; i++) {
		err = string_list__append(&e->places, restarts.v[i]);
		fd = err ? -1 : open_place(e, e->places.n - 1);
		if (fd >= 0) /* else it is no directory of this user's */
			err = read_names(e, fd, NULL);
	}
	string_list__free(&restarts);
	return err;
}

/* ---- jobs */

static int by_job(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return strcmp(x->name, y->name); /* the job file comes last */
}

static int by_age(const void *a, const void *b)
{
	const struct set *x = a, *y = b;

	if (x->changed_s != y->changed_s)
		return x->changed_s < y->changed_s ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_same_job(const struct item *a, const struct item *b)
{
	return a->place == b->place && a->job == b->job;
}

static int make_sets(struct expiry *e)
{
	if (e->nitems)
		qsort(e->items, e->nitems, sizeof(*e->items), by_job);
	for (unsigned i = 0, n; i < e->nitems; i += n) {
		struct set s = {.from = i};

		for (n = 0; i + n < e->nitems && is_same_job(&e->items[i], &e->items[i + n]); n++) {
			const struct stat *st = &e->items[i + n].st;
			const double t =
				(double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9;

			s.changed_s = t > s.changed_s ? t : s.changed_s;
			s.bytes += disk_bytes(st);
		}
		s.n = n;
		if (room__grow(&e->sets, e->nsets, 1, sizeof(s)))
			return -ENOMEM;
		e->sets[e->nsets++] = s;
	}
	e->r->left.jobs += e->nsets;
	if (e->nsets)
		qsort(e->sets, e->nsets, sizeof(*e->sets), by_age);
	return 0;
}

/* The path of a file below the directory, in memory of the caller's. */
static int path_of(const struct expiry *e, const struct item *it, char **path)
{
	const char *place = e->places.v[it->place];

	return asprintf(path, "%s%s%s", place, *place ? "/" : "", it->name) < 0 ? -ENOMEM : 0;
}

static bool is_indexed(const struct expiry *e, const struct item *it)
{
	_cleanup_free_ char *path = NULL;

	return !e->rules->is_indexed ||
	       (!path_of(e, it, &path) && e->rules->is_indexed(e->rules->arg, path, &it->st));
}

/* Why a job stays that is to go; N_EXPIRE_KEPT: it goes. */
static enum expire_kept why_kept(const struct expiry *e, const struct set *s)
{
	enum expire_kept why = N_EXPIRE_KEPT;

	if (s->changed_s > e->rules->now_s - EXPIRE_LEAST_S)
		return EXPIRE_YOUNG;
	for (unsigned i = s->from; i < s->from + s->n; i++) {
		const struct item *it = &e->items[i];

		if (it->kind == ITEM_DOT)
			return EXPIRE_RUNNING;
		if (it->is_foreign)
			return EXPIRE_FOREIGN;
		if (it->kind == ITEM_NODE && !e->rules->unmerged)
			why = EXPIRE_UNMERGED;
		else if (why == N_EXPIRE_KEPT && !is_indexed(e, it))
			why = EXPIRE_UNINDEXED;
	}
	return why;
}

/* ---- removal */

/* Whether what is at the name is the file that was looked at. */
static bool is_same_file(const struct expiry *e, int fd, const struct item *it)
{
	struct stat st;

	return !fstatat(fd, it->name, &st, AT_SYMLINK_NOFOLLOW) && is_own_file(e, &st) &&
	       st.st_dev == it->st.st_dev && st.st_ino == it->st.st_ino &&
	       st.st_size == it->st.st_size && st.st_mtim.tv_sec == it->st.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == it->st.st_mtim.tv_nsec;
}

static int unlink_file(struct expiry *e, const struct item *it)
{
	const int fd = open_place(e, it->place);

	alarm(STUCK_S);
	if (fd < 0)
		return fd;
	if (!is_same_file(e, fd, it))
		return -ESTALE;
	return unlinkat(fd, it->name, 0) ? -errno : 0;
}

static void print_file(const struct expiry *e, const struct item *it, const char *path)
{
	print__escaped(stdout, e->where);
	putchar('/');
	print__escaped(stdout, path);
	printf(": %llu bytes, %.0f days old\n", (unsigned long long)it->st.st_size,
	       (e->rules->now_s - (double)it->st.st_mtim.tv_sec) / 86400);
}

/* 0 or -errno, logged. */
static int remove_file(struct expiry *e, const struct item *it, struct expire_sum *sum)
{
	_cleanup_free_ char *path = NULL;
	int err = path_of(e, it, &path);

	if (!err && !e->rules->dry_run)
		err = unlink_file(e, it);
	if (err) {
		e->r->failed++;
		log_error("%s/%s: it is not removed: %s", e->where, path ? path : it->name,
			  err == -ESTALE ? "it has changed meanwhile" : strerror(-err));
		return err;
	}
	if (e->rules->prints)
		print_file(e, it, path);
	sum->files++;
	sum->bytes += disk_bytes(&it->st);
	e->r->left.files--;
	e->r->left.bytes -= disk_bytes(&it->st);
	return 0;
}

/* The job file goes last: what is left of a job by an error is a whole profile. A restart<n> goes
 * with the last job in it. */
static void remove_set(struct expiry *e, const struct set *s, struct expire_sum *sum)
{
	const unsigned place = e->items[s->from].place;

	for (unsigned i = s->from; i < s->from + s->n; i++)
		if (remove_file(e, &e->items[i], sum))
			return;
	sum->jobs++;
	e->r->left.jobs--;
	if (place && !e->rules->dry_run)
		unlinkat(e->dir, e->places.v[place], AT_REMOVEDIR);
}

static void remove_due(struct expiry *e)
{
	const struct expire_rules *rules = e->rules;

	for (unsigned i = 0; i < e->nsets; i++) {
		const struct set *s = &e->sets[i];
		const bool is_old = s->changed_s < rules->before_s;
		enum expire_kept why;

		if (!is_old && !((double)e->r->left.bytes > rules->quota_bytes))
			return; /* those that follow are younger */
		why = why_kept(e, s);
		if (why == N_EXPIRE_KEPT)
			remove_set(e, s, is_old ? &e->r->by_age : &e->r->by_quota);
		else
			e->r->kept[why]++;
	}
}

static void expiry_free(struct expiry *e)
{
	for (unsigned i = 0; i < e->nitems; i++)
		free(e->items[i].name);
	free(e->items);
	free(e->sets);
	string_list__free(&e->places);
	if (e->fd >= 0)
		close(e->fd);
}

int expire__dir(struct expire_result *r, int dir, const char *where,
		const struct expire_rules *rules)
{
	struct expiry e = {.r = r, .rules = rules, .where = where, .dir = dir, .fd = -1};
	int err = fstat(dir, &e.st) ? -errno : 0;

	if (!err)
		err = read_places(&e);
	if (!err)
		err = make_sets(&e);
	if (err)
		log_error("%s: cannot be looked through: %s", where, strerror(-err));
	else
		remove_due(&e);
	alarm(0);
	expiry_free(&e);
	return err;
}
