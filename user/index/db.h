/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database of jobs, SQLite's or PostgreSQL's, by statements that both understand: "?" stands for
 * an argument, {id} for the type of a number that the database gives out, {text} for that of a text
 * which is compared byte by byte, {real} for that of a double. LIKE heeds case in both, and has an
 * ESCAPE. A text is UTF-8 (base/utf8.h); one that is in a key or an index has at most 512 bytes, a
 * path DB_PATH_MAX.
 *
 * Both engines give the same results if a statement keeps these rules: a quotient or a sum of cases
 * is made of doubles, as CAST(x AS {real}) or 0.0, a sum of whole numbers is CAST(... AS BIGINT),
 * no divisor is 0 (NULLIF), and columns that are selected together with sums are those of GROUP BY.
 * A comparison is 1 or 0.
 *
 * SQLite: one process writes, which has an exclusive lock on a file in the same directory; another
 * writer waits for the lock for a few seconds. Readers open the database read-only, because they
 * may be killed at any time, and their transactions are short. Debian 12's 3.40.1 can damage a
 * database which two processes write or checkpoint at once (sqlite.org/wal.html#walresetbug).
 * PostgreSQL: of several processes that write, each waits for the end of the other's transaction.
 */
#ifndef JP_INDEX_DB_H
#define JP_INDEX_DB_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

#define DB_PATH_MAX 2000 /* bytes: PostgreSQL's indexes take no text much longer */

enum db_mode {
	DB_READ,
	DB_WRITE, /* makes it where it is not there */
	DB_ANEW	  /* as DB_WRITE; a file that is there, which may be damaged, becomes PATH.old */
};

/* An argument or a cell. Of both texts and numbers the unknown is NULL. */
struct db_value {
	enum { DB_NULL, DB_INT, DB_REAL, DB_TEXT } type;
	int64_t i;
	double real;
	const char *text; /* of a cell: until the next row */
};

static inline struct db_value db_value__int(int64_t i)
{
	return (struct db_value){.type = DB_INT, .i = i};
}

/* NULL for NaN and infinities. */
static inline struct db_value db_value__real(double v)
{
	return (struct db_value){.type = isfinite(v) ? DB_REAL : DB_NULL, .real = v};
}

static inline struct db_value db_value__text(const char *s)
{
	return (struct db_value){.type = s ? DB_TEXT : DB_NULL, .text = s};
}

/* NaN where it is no number. */
static inline double db_value__number(const struct db_value *v)
{
	return v->type == DB_INT ? (double)v->i : v->type == DB_REAL ? v->real : NAN;
}

/* where: a path or postgresql://... 0; -EBUSY: another process writes; -EBADMSG: it is no
 * database, or damaged; -ECONNRESET: the server cannot be reached, or not any more; -errno. All are
 * logged, but -ENOENT of DB_READ: there is no such file. */
int db__open(struct db **out, const char *where, enum db_mode mode);
void db__close(struct db *d);
bool db__is_postgresql(const struct db *d);
/* Where it is, for messages: an address without its user, password and options. */
const char *db__name(const struct db *d);
/* The same for a database that may not be open; the caller frees it. NULL: no memory. */
char *db__name_of(const char *where);

/* Executes a statement without rows. 0, or -errno and the database's message is logged. */
int db__run(struct db *d, const char *sql, const struct db_value *args, unsigned nargs);

/* Rows of a statement; rows of another statement may be read meanwhile. */
struct db_rows {
	struct db *db;
	void *engine;		  /* the engine's */
	const struct db_value *v; /* the row, v[n] */
	unsigned n;
	int err;
};
/* 0 or -errno, logged; db_rows__end() in both cases. */
int db__ask(struct db_rows *r, struct db *d, const char *sql, const struct db_value *args,
	    unsigned nargs);
/* False: there are no more, or r->err is an error, which is logged. */
bool db_rows__next(struct db_rows *r);
void db_rows__end(struct db_rows *r);
/* The one number that a statement has; NaN: no row, or not known. An error is logged, and is in
 * *err. */
double db__number(struct db *d, int *err, const char *sql, const struct db_value *args,
		  unsigned nargs);

/* For a writer: until the end of the transaction no other process writes. */
int db__begin(struct db *d);
/* For a writer that waits for files or sacct between its transactions: from now on other processes
 * may write outside of these transactions, and this one may not. db__begin() waits for the others
 * for up to a minute, then -EBUSY; -ESTALE: another process has made the index anew. Both are
 * logged. */
void db__share(struct db *d);
/* db__run() in a transaction of its own. */
int db__write(struct db *d, const char *sql, const struct db_value *args, unsigned nargs);
/* An error ends the transaction, too: nothing of it is stored. */
int db__commit(struct db *d);
/* Does nothing where an error has ended the transaction. */
void db__rollback(struct db *d);

/* Statements end with -ETIME when this many seconds from now are over; 0: never. */
void db__limit(struct db *d, double seconds);

/* For a writer, outside of a transaction: removes the bytes of deleted rows from the database's
 * files; a server only frees their room for other rows. 0 or -errno, logged. */
int db__scrub(struct db *d);
/* Looks for damage, and for versions of the engine that can damage a database. 0, or an error such
 * as -EBADMSG; what was found is logged. */
int db__check(struct db *d);

#endif
