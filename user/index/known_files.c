/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the index has of files and directories: when they changed, and whether they were read. */
#include "index/known_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "base/utf8.h"
#include "index/query.h"
#include "jobfile/profile_search.h"

#define RECENT_S 2 /* a directory that changed less long ago may change again at the same time */

/* ---- files of a directory */

static int add(void *arg, const struct db_value *v)
{
	struct known_files *k = arg;
	const struct known_file f = {
		.path = strdup(v[0].text),
		.mtime_s = db_value__number(&v[1]),
		.size = db_value__number(&v[2]),
		.is_read = !strcmp(v[3].text, "read"),
	};

	if (!f.path || room__grow(&k->v, k->n, 1, sizeof(f))) {
		free(f.path);
		return -ENOMEM;
	}
	k->v[k->n++] = f;
	return 0;
}

int known_files__load(struct known_files *k, struct index *ix, const char *dir)
{
	struct query q;

	*k = (struct known_files){0};
	query__init(&q);
	query__add(&q, "SELECT path, mtime, size, state FROM file WHERE directory = ? "
		       "ORDER BY path");
	query__arg(&q, db_value__text(dir));
	return query__each(&q, ix->db, add, k);
}

void known_files__free(struct known_files *k)
{
	for (unsigned i = 0; i < k->n; i++)
		free(k->v[i].path);
	free(k->v);
	*k = (struct known_files){0};
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct known_file *)a)->path, ((const struct known_file *)b)->path);
}

static struct known_file *find(const struct known_files *k, const char *path)
{
	const struct known_file key = {.path = (char *)path};

	return k->n ? bsearch(&key, k->v, k->n, sizeof(key), by_path) : NULL;
}

static bool is_same(const struct known_file *f, double mtime_s, double size)
{
	return fabs(f->mtime_s - mtime_s) <= 1e-6 && f->size == size;
}

enum known_state known_files__state(struct known_files *k, const char *path, double mtime_s,
				    double size)
{
	struct known_file *f = find(k, path);

	if (f)
		f->is_there = true;
	if (!f)
		return FILE_NEW;
	if (isnan(f->mtime_s))
		return FILE_AGAIN;
	return is_same(f, mtime_s, size) ? FILE_KNOWN : FILE_CHANGED;
}

bool known_files__has(const struct known_files *k, const char *path, double mtime_s, double size)
{
	const struct known_file *f = find(k, path);

	return f && f->is_read && is_same(f, mtime_s, size);
}

int known_files__forget_gone(const struct known_files *k, struct index *ix, unsigned long *gone)
{
	int err = 0;

	for (unsigned i = 0; !err && i < k->n; i++) {
		if (k->v[i].is_there)
			continue;
		(*gone)++;
		err = known_file__forget(ix, k->v[i].path);
	}
	return err;
}

bool known_files__may_have(const char *path)
{
	unsigned replaced = 1;
	char *same = strlen(path) <= DB_PATH_MAX ? utf8__clean(path, SIZE_MAX, &replaced) : NULL;

	free(same);
	return !replaced;
}

/* ---- one file */

int known_file__note(struct index *ix, const char *dir, const struct known_file *f, uid_t uid,
		     const char *state, const char *why)
{
	const struct db_value args[] = {
		db_value__text(f->path), db_value__text(dir), db_value__real(f->mtime_s),
		db_value__real(f->size), db_value__int(uid),  db_value__text(state),
		db_value__text(why),
	};

	return db__run(ix->db,
		       "INSERT INTO file (path, directory, mtime, size, uid, state, why) "
		       "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
		       "mtime = excluded.mtime, size = excluded.size, uid = excluded.uid, "
		       "state = excluded.state, why = excluded.why",
		       args, sizeof(args) / sizeof(*args));
}

int known_file__forget(struct index *ix, const char *path)
{
	const struct db_value arg = db_value__text(path);

	return db__run(ix->db, "DELETE FROM file WHERE path = ?", &arg, 1);
}

/* ---- a directory */

int known_dir__is_same(struct index *ix, const char *dir, double mtime_s, bool *same)
{
	const struct db_value path = db_value__text(dir);
	int err;
	double known =
		db__number(ix->db, &err, "SELECT mtime FROM directory WHERE path = ?", &path, 1);

	*same = fabs(known - mtime_s) < 1e-6;
	return err;
}

int known_dir__note(struct index *ix, const char *dir, double mtime_s, double looked_s)
{
	const struct db_value args[] = {
		db_value__text(dir), db_value__real(looked_s - mtime_s > RECENT_S ? mtime_s : NAN)};

	return db__run(ix->db,
		       "INSERT INTO directory (path, mtime) VALUES (?, ?) "
		       "ON CONFLICT (path) DO UPDATE SET mtime = excluded.mtime",
		       args, 2);
}

int known_dir__look_again(struct index *ix, const char *dir, bool all)
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
	return index__end(ix, err);
}

bool known_dir__is_for_restarts(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "restart", 7) && name[7] &&
	       strspn(name + 7, "0123456789") == strlen(name + 7);
}

static int add_restart(void *found, const struct db_value *v)
{
	return known_dir__is_for_restarts(v[0].text) ? string_list__append(found, v[0].text) : 0;
}

int known_dir__restarts(struct index *ix, const char *dir, bool looked, struct string_list *found)
{
	struct string_list all = {0};
	char from[4096 + 16];
	struct query q;
	int err;

	if (looked) {
		err = profile_search__dirs(&all, dir);
		for (unsigned i = 1; !err && i < all.n; i++)
			if (known_dir__is_for_restarts(all.v[i]))
				err = string_list__append(found, all.v[i]);
		string_list__free(&all);
		return err;
	}
	snprintf(from, sizeof(from), "%s/restart", dir);
	query__init(&q);
	query__add(&q,
		   "SELECT path FROM directory WHERE path > ? AND path < ? || '~' ORDER BY path");
	query__arg(&q, db_value__text(from));
	query__arg(&q, db_value__text(from));
	return query__each(&q, ix->db, add_restart, found);
}
