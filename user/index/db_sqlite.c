/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The index in SQLite: one file. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/log.h"
#include "index/db_engine.h"

#define CACHED	64   /* statements that are kept, by their text */
#define BUSY_MS 5000 /* a reader waits so long for a checkpoint */
#define STEPS	1000 /* of the virtual machine, between looks at the clock */

struct statement {
	char *sql;
	sqlite3_stmt *stmt;
	bool is_used;
};

struct sqlite {
	sqlite3 *db;
	int lock; /* of who writes; -1 */
	struct statement cache[CACHED];
	unsigned next; /* to be replaced */
	uint64_t until_ns;
};

/* Rows that are being read. */
struct cursor {
	struct statement *kept;
	sqlite3_stmt *stmt;
	bool is_ahead;	     /* the first row has been read */
	struct db_value v[]; /* a cell each */
};

static int errno_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_INTERRUPT:
		return -ETIME;
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	default:
		return -EIO;
	}
}

/* Logs what the database says. Returns -errno. */
static int complain(const struct db *d, int rc)
{
	const struct sqlite *s = d->own;
	int err = errno_of(rc);

	if (err == -EBADMSG)
		log_error("%s: the index is damaged: %s; jobprof index remake makes it again",
			  d->where, sqlite3_errstr(rc));
	else if (err == -ETIME)
		log_error("%s: the question took too long; ask for fewer jobs, as by --since",
			  d->where);
	else
		log_error("%s: %s", d->where, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	return err;
}

static int on_steps(void *arg)
{
	const struct sqlite *s = arg;

	return s->until_ns && clock__boot_ns() > s->until_ns;
}

static void sqlite_limit(struct db *d, double seconds)
{
	struct sqlite *s = d->own;

	s->until_ns = seconds > 0 ? clock__boot_ns() + (uint64_t)(seconds * 1e9) : 0;
	sqlite3_progress_handler(s->db, seconds > 0 ? STEPS : 0, on_steps, s);
}

/* Who writes holds a lock on PATH.lock. */
static int lock_writer(struct db *d, const char *path)
{
	struct sqlite *s = d->own;
	char *name;
	int err = 0;

	if (asprintf(&name, "%s.lock", path) < 0)
		return -ENOMEM;
	s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB))
		err = -errno;
	if (err == -EWOULDBLOCK) {
		err = -EBUSY;
		log_error("%s: another process writes this index", path);
	} else if (err) {
		log_error("%s: %s", name, strerror(-err));
	}
	free(name);
	return err;
}

static int set_up(struct db *d)
{
	static const char all[] = "PRAGMA mmap_size=0; PRAGMA case_sensitive_like=1; "
				  "PRAGMA cache_size=-65536; PRAGMA trusted_schema=0;";
	static const char writer[] = "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; "
				     "PRAGMA synchronous=NORMAL; "
				     "PRAGMA journal_size_limit=67108864;";
	const struct sqlite *s = d->own;
	int rc = sqlite3_exec(s->db, all, NULL, NULL, NULL);

	if (!rc && d->mode == DB_WRITE)
		rc = sqlite3_exec(s->db, writer, NULL, NULL, NULL);
	return rc ? complain(d, rc) : 0;
}

static int sqlite_open(struct db *d, const char *where, enum db_mode mode)
{
	const int flags = mode == DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
					   : SQLITE_OPEN_READONLY;
	struct sqlite *s = calloc(1, sizeof(*s));
	struct stat st;
	mode_t mask;
	int err, rc;

	d->own = s;
	if (!s)
		return -ENOMEM;
	s->lock = -1;
	if (mode == DB_READ && stat(where, &st))
		return -errno;
	err = mode == DB_WRITE ? lock_writer(d, where) : 0;
	if (err)
		return err;
	mask = umask(027);
	rc = sqlite3_open_v2(where, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			     NULL);
	if (!rc)
		sqlite3_busy_timeout(s->db, BUSY_MS);
	err = rc ? complain(d, rc) : set_up(d);
	umask(mask);
	return err;
}

static void sqlite_close(struct db *d)
{
	struct sqlite *s = d->own;

	if (!s)
		return;
	for (unsigned i = 0; i < CACHED; i++) {
		sqlite3_finalize(s->cache[i].stmt);
		free(s->cache[i].sql);
	}
	sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}

/* A statement of this text that nobody uses; NULL: it has been said why not, and *err is set. */
static struct statement *find(struct db *d, const char *sql, int *err)
{
	struct sqlite *s = d->own;
	struct statement *to;
	int rc;

	for (unsigned i = 0; i < CACHED; i++)
		if (s->cache[i].sql && !s->cache[i].is_used && !strcmp(s->cache[i].sql, sql))
			return &s->cache[i];
	do
		to = &s->cache[s->next++ % CACHED];
	while (to->is_used);
	sqlite3_finalize(to->stmt);
	free(to->sql);
	*to = (struct statement){.sql = strdup(sql)};
	rc = to->sql ? sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &to->stmt,
					  NULL)
		     : SQLITE_NOMEM;
	if (!rc)
		return to;
	*err = complain(d, rc);
	free(to->sql);
	*to = (struct statement){0};
	return NULL;
}

static int bind(sqlite3_stmt *stmt, int at, const struct db_value *v)
{
	switch (v->type) {
	case DB_INT:
		return sqlite3_bind_int64(stmt, at, v->i);
	case DB_REAL:
		return sqlite3_bind_double(stmt, at, v->real);
	case DB_TEXT:
		return sqlite3_bind_text(stmt, at, v->text, -1, SQLITE_TRANSIENT);
	default:
		return sqlite3_bind_null(stmt, at);
	}
}

static int sqlite_ask(struct db_rows *r, const char *sql, const struct db_value *args,
		      unsigned nargs)
{
	struct statement *kept;
	struct cursor *c;
	int rc = 0, err = 0;

	kept = find(r->db, sql, &err);
	if (!kept)
		return err;
	r->n = (unsigned)sqlite3_column_count(kept->stmt);
	c = calloc(1, sizeof(*c) + (r->n + 1) * sizeof(*c->v));
	if (!c)
		return complain(r->db, SQLITE_NOMEM);
	*c = (struct cursor){.kept = kept, .stmt = kept->stmt};
	kept->is_used = true;
	r->engine = c;
	r->v = c->v;
	for (unsigned i = 0; !rc && i < nargs; i++)
		rc = bind(c->stmt, (int)i + 1, &args[i]);
	/* The first step finds most errors. */
	if (!rc)
		rc = sqlite3_step(c->stmt);
	c->is_ahead = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : complain(r->db, rc);
}

static struct db_value cell_of(sqlite3_stmt *stmt, int i)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		return db_value__int(sqlite3_column_int64(stmt, i));
	case SQLITE_FLOAT:
		return db_value__real(sqlite3_column_double(stmt, i));
	case SQLITE_NULL:
		return (struct db_value){0};
	default:
		return db_value__text((const char *)sqlite3_column_text(stmt, i));
	}
}

static bool sqlite_next(struct db_rows *r)
{
	struct cursor *c = r->engine;
	int rc = SQLITE_ROW;

	if (!c->is_ahead && !sqlite3_stmt_busy(c->stmt))
		return false; /* the first step was the last */
	if (!c->is_ahead)
		rc = sqlite3_step(c->stmt);
	c->is_ahead = false;
	if (rc == SQLITE_ROW) {
		for (unsigned i = 0; i < r->n; i++)
			c->v[i] = cell_of(c->stmt, (int)i);
		return true;
	}
	if (rc != SQLITE_DONE)
		r->err = complain(r->db, rc);
	return false;
}

static void sqlite_end(struct db_rows *r)
{
	struct cursor *c = r->engine;

	sqlite3_reset(c->stmt);
	sqlite3_clear_bindings(c->stmt);
	c->kept->is_used = false;
	free(c);
}

const struct db_engine db_sqlite = {
	.types = {"INTEGER PRIMARY KEY", "TEXT", "REAL"},
	.open = sqlite_open,
	.close = sqlite_close,
	.ask = sqlite_ask,
	.next = sqlite_next,
	.end = sqlite_end,
	.limit = sqlite_limit,
};
