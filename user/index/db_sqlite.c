/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQLite engine: an index is one file. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/log.h"
#include "index/db_engine.h"

#define CACHED	 64    /* prepared statements, found by their text */
#define BUSY_MS	 5000  /* how long a reader waits for a checkpoint, and a checkpoint for readers */
#define OPEN_MS	 3000  /* how long a writer waits for another one when it opens the index */
#define SHARE_MS 60000 /* and in db__begin(), after db__share() */
#define LOOK_MS	 10
#define STEPS	 1000 /* of the virtual machine, between looks at the clock */
#define WAL_SOME 1000 /* pages of 8 KiB in the log: a commit moves those that no reader needs */
#define WAL_MANY 8192 /* pages with which a commit moves all, and waits for readers */

struct statement {
	char *sql;
	sqlite3_stmt *stmt;
	bool is_used;
};

struct sqlite {
	char *path; /* absolute, without symbolic links */
	sqlite3 *db;
	int lock; /* the writer's lock file; -1: none */
	bool is_locked;
	dev_t device; /* of the file that is open for writing, and its inode */
	ino_t inode;
	struct statement cache[CACHED];
	unsigned next;	/* the entry to be replaced */
	double limit_s; /* 0: none */
	uint64_t until_ns;
};

/* Rows that are being read. */
struct cursor {
	struct statement *cached;
	sqlite3_stmt *stmt;
	bool is_ahead;	     /* the first row is read, and not returned yet */
	struct db_value v[]; /* one per column */
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

/* Whether NAME-shm is absent: a reader needs it, and a writer leaves it there. */
static bool lacks_shared(const struct db *d)
{
	const struct sqlite *s = d->own;
	char *name = NULL;
	bool lacks = d->mode == DB_READ && asprintf(&name, "%s-shm", s->path) > 0 &&
		     access(name, F_OK) != 0;

	free(name);
	return lacks;
}

/* Logs the database's error. Returns -errno. */
static int complain(const struct db *d, int rc)
{
	const struct sqlite *s = d->own;
	int err = errno_of(rc), of_system = s->db ? sqlite3_system_errno(s->db) : 0;
	const char *said =
		s->db && rc == sqlite3_errcode(s->db) ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);

	if ((rc & 0xff) == SQLITE_NOTADB)
		log_error("%s: this is no index: %s", d->name, said);
	else if (err == -EBADMSG)
		log_error("%s: the index is damaged: %s; jobprof index remake DIR makes it again",
			  d->name, said);
	else if (err == -ETIME)
		log_error("%s: " DB_TOO_LONG, d->name, s->limit_s);
	else if (err == -EACCES && lacks_shared(d))
		log_error("%s: its directory has no %s-shm, and you may not make it; its owner's "
			  "next jobprof index scan does",
			  d->name, d->name);
	else if ((err == -EIO || err == -EACCES) && of_system)
		log_error("%s: %s: %s", d->name, said, strerror(of_system));
	else
		log_error("%s: %s", d->name, said);
	return err == -EIO && of_system ? -of_system : err;
}

static int on_steps(void *arg)
{
	const struct sqlite *s = arg;

	return s->until_ns && clock__boot_ns() > s->until_ns;
}

static void sqlite_limit(struct db *d, double seconds)
{
	struct sqlite *s = d->own;

	s->limit_s = seconds > 0 ? seconds : 0;
	s->until_ns = seconds > 0 ? clock__boot_ns() + (uint64_t)(seconds * 1e9) : 0;
	sqlite3_progress_handler(s->db, seconds > 0 ? STEPS : 0, on_steps, s);
}

/* ---- the file */

/* Sets s->path. SQLITE_OPEN_NOFOLLOW refuses a path with a link anywhere in it, and the way to a
 * home is often one; here only the file itself must not be a link. 0; -ENOENT, not logged;
 * -errno. */
static int find_path(struct db *d, const char *where)
{
	struct sqlite *s = d->own;
	char *copy = strdup(where), *base = strdup(where), dir[PATH_MAX];
	struct stat st;
	int err = copy && base ? 0 : -ENOMEM;

	if (!err && !realpath(dirname(copy), dir))
		err = -errno;
	if (!err && asprintf(&s->path, "%s/%s", strcmp(dir, "/") ? dir : "", basename(base)) < 0)
		err = -ENOMEM;
	if (!err && lstat(s->path, &st))
		err = errno == ENOENT && d->mode != DB_READ ? 0 : -errno;
	else if (!err && S_ISLNK(st.st_mode))
		err = -ELOOP;
	else if (!err && !S_ISREG(st.st_mode))
		err = -EISDIR;
	free(copy);
	free(base);
	if (err && (err != -ENOENT || d->mode != DB_READ))
		log_error("%s: %s", where,
			  err == -ELOOP	   ? "it is a symbolic link, which an index must not be"
			  : err == -EISDIR ? "it is no file"
					   : strerror(-err));
	return err;
}

/* Waits up to ms for another writer. 0; -EWOULDBLOCK; -errno. */
static int wait_for_lock(int fd, unsigned ms)
{
	for (unsigned waited = 0;; waited += LOOK_MS) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK || waited >= ms)
			return -errno;
		usleep(LOOK_MS * 1000);
	}
}

static int complain_of_lock(const struct db *d, int err)
{
	const struct sqlite *s = d->own;
	const struct passwd *pw = NULL;
	struct stat st;

	if (err == -EWOULDBLOCK) {
		log_error("%s: another process writes this index", d->name);
		return -EBUSY;
	}
	if (err == -EACCES && !stat(s->path, &st))
		pw = getpwuid(st.st_uid);
	if (pw)
		log_error("%s: Permission denied; its owner may write it: sudo -u %s jobprof ...",
			  d->name, pw->pw_name);
	else
		log_error("%s.lock: %s", d->name, strerror(-err));
	return err;
}

/* Locks PATH.lock. The lock ends with this process; the file stays. */
static int lock_writer(struct db *d)
{
	struct sqlite *s = d->own;
	struct stat st;
	char *name;
	int err = 0;

	if (asprintf(&name, "%s.lock", s->path) < 0)
		return -ENOMEM;
	s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = s->lock < 0 ? -errno : wait_for_lock(s->lock, OPEN_MS);
	s->is_locked = !err;
	if (!err && !geteuid() && !stat(s->path, &st) && fchown(s->lock, st.st_uid, st.st_gid))
		err = -errno; /* root writes for the owner, who must be able to lock it later */
	free(name);
	return err ? complain_of_lock(d, err) : 0;
}

/* ---- after db__share() this process can write in transactions only */

static void sqlite_unlock(struct db *d)
{
	struct sqlite *s = d->own;

	if (!s->is_locked)
		return;
	sqlite3_exec(s->db, "PRAGMA query_only=1", NULL, NULL, NULL);
	flock(s->lock, LOCK_UN);
	s->is_locked = false;
}

static int sqlite_lock(struct db *d)
{
	struct sqlite *s = d->own;
	struct stat st;
	int err = s->is_locked ? 0 : wait_for_lock(s->lock, SHARE_MS);

	if (err)
		return complain_of_lock(d, err);
	s->is_locked = true;
	sqlite3_exec(s->db, "PRAGMA query_only=0", NULL, NULL, NULL);
	if (!stat(s->path, &st) && st.st_dev == s->device && st.st_ino == s->inode)
		return 0;
	sqlite_unlock(d);
	log_error("%s: another process has made this index anew", d->name);
	return -ESTALE;
}

/* Renames the database, and the log, which may have pages that the database lacks. */
static int put_aside(struct db *d)
{
	static const char *const parts[] = {"-wal", "-shm", ""};
	const struct sqlite *s = d->own;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(*parts); i++) {
		char *from = NULL, *to = NULL;

		if (asprintf(&from, "%s%s", s->path, parts[i]) < 0 ||
		    asprintf(&to, "%s.old%s", s->path, parts[i]) < 0)
			err = -ENOMEM;
		else if (rename(from, to) && (errno != ENOENT || (unlink(to) && errno != ENOENT)))
			err = -errno;
		free(from);
		free(to);
	}
	if (err)
		log_error("%s: it cannot be renamed: %s", d->name, strerror(-err));
	return err;
}

/* Whether other hosts may have the file open, too. They cannot share a write-ahead log, whose index
 * is shared memory of one host. */
static bool is_remote(const char *path)
{
	static const unsigned long kinds[] = {
		0x6969,	    /* NFS */
		0x517b,	    /* SMB */
		0xfe534d42, /* SMB 2 */
		0xff534d42, /* CIFS */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS, Storage Scale */
		0x19830326, /* BeeGFS */
		0xaad7aaea, /* PanFS */
		0x00c36400, /* Ceph */
		0x01021997, /* 9p */
		0x01161970, /* GFS2 */
		0x65735546, /* FUSE, as of sshfs and WekaFS */
		0x5346414f, /* AFS */
	};
	struct statfs st;

	if (statfs(path, &st))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((unsigned long)st.f_type == kinds[i])
			return true;
	return false;
}

/* Moves pages from the log to the database after a commit; those that readers still need stay for a
 * later one. */
static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
	if (pages >= WAL_SOME)
		sqlite3_wal_checkpoint_v2(db, name,
					  pages >= WAL_MANY ? SQLITE_CHECKPOINT_TRUNCATE
							    : SQLITE_CHECKPOINT_PASSIVE,
					  NULL, NULL);
	return SQLITE_OK;
}

static int set_up(struct db *d)
{
	static const char all[] = "PRAGMA mmap_size=0; PRAGMA case_sensitive_like=1; "
				  "PRAGMA trusted_schema=0; PRAGMA automatic_index=0;";
	const struct sqlite *s = d->own;
	int stays = 1, rc;

	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_file_control(s->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &stays);
	rc = sqlite3_exec(s->db, all, NULL, NULL, NULL);
	if (rc || d->mode == DB_READ)
		return rc ? complain(d, rc) : 0;
	rc = sqlite3_exec(s->db,
			  "PRAGMA page_size=8192; PRAGMA cache_size=-65536; "
			  "PRAGMA journal_size_limit=67108864;",
			  NULL, NULL, NULL);
	if (!rc && is_remote(s->path))
		rc = sqlite3_exec(s->db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL",
				  NULL, NULL, NULL);
	else if (!rc)
		rc = sqlite3_exec(s->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", NULL,
				  NULL, NULL);
	sqlite3_wal_hook(s->db, on_commit, NULL);
	return rc ? complain(d, rc) : 0;
}

static int sqlite_open(struct db *d, const char *where, enum db_mode mode)
{
	const int flags =
		mode == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct sqlite *s = calloc(1, sizeof(*s));
	struct stat st;
	mode_t mask;
	int err, rc;

	d->own = s;
	if (!s)
		return -ENOMEM;
	s->lock = -1;
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes becomes an error, like a full disk */
	err = find_path(d, where);
	if (!err && mode != DB_READ)
		err = lock_writer(d);
	if (!err && mode == DB_ANEW)
		err = put_aside(d);
	if (err)
		return err;
	mask = umask(027); /* the group may read */
	rc = sqlite3_open_v2(s->path, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			     NULL);
	err = rc ? complain(d, rc) : set_up(d);
	umask(mask);
	if (!err && !stat(s->path, &st)) {
		s->device = st.st_dev;
		s->inode = st.st_ino;
	}
	return err;
}

/* Moves the log into the database, unless another process writes, which will do that. */
static void empty_log(struct sqlite *s)
{
	if (!s->is_locked)
		s->is_locked = s->lock >= 0 && !flock(s->lock, LOCK_EX | LOCK_NB);
	if (!s->is_locked)
		return;
	sqlite3_exec(s->db, "PRAGMA query_only=0", NULL, NULL, NULL);
	sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
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
	if (s->db && d->mode != DB_READ)
		empty_log(s);
	sqlite3_close_v2(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s->path);
	free(s);
}

/* ---- statements */

/* A prepared statement of this text that nobody uses. NULL: the error is logged, and in *err. */
static struct statement *find(struct db *d, const char *sql, int *err)
{
	struct sqlite *s = d->own;
	struct statement *to = NULL;
	int rc;

	for (unsigned i = 0; i < CACHED; i++)
		if (s->cache[i].sql && !s->cache[i].is_used && !strcmp(s->cache[i].sql, sql))
			return &s->cache[i];
	for (unsigned i = 0; i < CACHED; i++) {
		to = &s->cache[s->next++ % CACHED];
		if (!to->is_used)
			break;
	}
	if (to->is_used) {
		log_error("%s: more than %d questions at once", d->name, CACHED);
		*err = -EMFILE;
		return NULL;
	}
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
	struct statement *cached;
	struct cursor *c;
	int rc = 0, err = 0;

	cached = find(r->db, sql, &err);
	if (!cached)
		return err;
	r->n = (unsigned)sqlite3_column_count(cached->stmt);
	c = calloc(1, sizeof(*c) + (r->n + 1) * sizeof(*c->v));
	if (!c)
		return complain(r->db, SQLITE_NOMEM);
	*c = (struct cursor){.cached = cached, .stmt = cached->stmt};
	cached->is_used = true;
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
		return false; /* the first step was also the last one */
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
	c->cached->is_used = false;
	free(c);
}

static bool sqlite_is_in_transaction(struct db *d)
{
	const struct sqlite *s = d->own;

	return !sqlite3_get_autocommit(s->db);
}

/* ---- scrub */

/* VACUUM, since deleted text stays in gaps of pages: secure_delete does not reach the places that
 * rows were moved from. The log has old pages, too. */
static int sqlite_scrub(struct db *d)
{
	struct sqlite *s = d->own;
	int rc = sqlite3_exec(s->db, "VACUUM", NULL, NULL, NULL);

	if (!rc)
		rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	return rc ? complain(d, rc) : 0;
}

/* ---- check */

#define SAFE 3051003 /* from this version on two writers damage nothing */

static int sqlite_check(struct db *d)
{
	const int version = sqlite3_libversion_number();
	struct db_rows r = {.db = d};
	int err = sqlite_ask(&r, "PRAGMA quick_check(20)", NULL, 0);
	bool is_damaged = false;

	while (!err && sqlite_next(&r))
		if (r.v[0].type == DB_TEXT && strcmp(r.v[0].text, "ok")) {
			log_error("%s: damaged: %s", d->name, r.v[0].text);
			is_damaged = true;
		}
	err = err ? err : r.err;
	if (r.engine)
		sqlite_end(&r);
	if (version < SAFE && version != 3050007 && version != 3044006)
		log_warn("%s: SQLite %s can damage an index that two processes write at once, "
			 "which 3.51.3 cannot: only one process may write it",
			 d->name, sqlite3_libversion());
	return err ? err : is_damaged ? -EBADMSG : 0;
}

const struct db_engine db_sqlite = {
	.types = {"INTEGER PRIMARY KEY", "TEXT", "REAL", "WITHOUT ROWID"},
	.begin = "BEGIN IMMEDIATE",
	.open = sqlite_open,
	.close = sqlite_close,
	.ask = sqlite_ask,
	.next = sqlite_next,
	.end = sqlite_end,
	.limit = sqlite_limit,
	.is_in_transaction = sqlite_is_in_transaction,
	.lock = sqlite_lock,
	.unlock = sqlite_unlock,
	.scrub = sqlite_scrub,
	.check = sqlite_check,
};
