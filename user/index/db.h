/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A database of jobs, in SQLite or PostgreSQL, with statements that both understand: "?" stands for
 * an argument, {id} for the type of a number that the database assigns, {text} for the type of a
 * text that is compared byte by byte, {real} for that of a double, {keyed} behind a table that is
 * stored in the order of its primary key where the engine can. LIKE is case-sensitive in both,
 * and has an ESCAPE. A text is UTF-8 (base/utf8.h); in a key or an index it has at most 512 bytes,
 * a path DB_PATH_MAX.
 *
 * SQLite from 3.34 on, which EL 9 has, and PostgreSQL from 13 on: neither RETURNING nor STRICT.
 *
 * For equal results in both, a quotient or a sum of cases is made of doubles, as CAST(x AS {real})
 * or 0.0, a sum of integers is CAST(... AS BIGINT), no divisor is 0 (NULLIF), and columns that are
 * selected together with sums are those of GROUP BY. A comparison is 1 or 0.
 *
 * SQLite: one process writes, under an exclusive lock on a file next to the database, for which
 * another writer waits a few seconds. Readers open the database read-only, for they may be killed
 * at any time, and their transactions are short. SQLite 3.40.1 of Debian 12 can damage a database
 * which two processes write or checkpoint at once (sqlite.org/wal.html#walresetbug). PostgreSQL: a
 * writer waits for the end of another writer's transaction.
 */
#ifndef JP_INDEX_DB_H
#define JP_INDEX_DB_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

#define DB_PATH_MAX 2000 /* bytes; PostgreSQL's indexes take no text much longer */

enum db_mode {
	DB_READ,
	DB_WRITE, /* makes the database if there is none */
	DB_ANEW	  /* as DB_WRITE; a file that exists, and may be damaged, becomes PATH.old */
};

/* An argument or a cell. An unknown text or number is NULL. */
struct db_value {
	enum { DB_NULL, DB_INT, DB_REAL, DB_TEXT } type;
	int64_t i;
	double real;
	const char *text; /* of a cell: valid until the next row */
};

static inline struct db_value db_value__int(int64_t i)
{
	return (struct db_value){.type = DB_INT, .i = i};
}

/* NaN and infinities become NULL. */
static inline struct db_value db_value__real(double v)
{
	return (struct db_value){.type = isfinite(v) ? DB_REAL : DB_NULL, .real = v};
}

static inline struct db_value db_value__text(const char *s)
{
	return (struct db_value){.type = s ? DB_TEXT : DB_NULL, .text = s};
}

/* NaN if the value is not a number. */
static inline double db_value__number(const struct db_value *v)
{
	return v->type == DB_INT ? (double)v->i : v->type == DB_REAL ? v->real : NAN;
}

/* Opens a database. where: a path or postgresql://... 0; -EBUSY: another process writes; -EBADMSG:
 * it is no database, or damaged; -ECONNRESET: there is no connection to the server; -errno. Errors
 * are logged, but for -ENOENT with DB_READ: there is no such file. */
int db__open(struct db **out, const char *where, enum db_mode mode);
void db__close(struct db *d);
bool db__is_postgresql(const struct db *d);
/* The place of the database, for messages: an address without user, password and options. */
const char *db__name(const struct db *d);
/* The same for a place that need not be open; the caller frees it. NULL: no memory. */
char *db__name_of(const char *where);

/* Runs a statement that has no rows. 0 or -errno, logged. */
int db__run(struct db *d, const char *sql, const struct db_value *args, unsigned nargs);

/* Rows of a statement. Others may be asked for before their end. */
struct db_rows {
	struct db *db;
	void *engine;		  /* its cursor */
	const struct db_value *v; /* the current row, v[n] */
	unsigned n;
	int err;
};
/* Runs a statement that has rows. 0 or -errno, logged; db_rows__end() in both cases. */
int db__ask(struct db_rows *r, struct db *d, const char *sql, const struct db_value *args,
	    unsigned nargs);
/* False: there are no more rows, or r->err is an error, which was logged. */
bool db_rows__next(struct db_rows *r);
/* err: an error of what was done with the rows, or 0. It is returned, or that of the rows. */
int db_rows__end(struct db_rows *r, int err);
/* Returns the single number of a statement; NaN: no row, or unknown. *err: 0 or -errno, logged. */
double db__number(struct db *d, int *err, const char *sql, const struct db_value *args,
		  unsigned nargs);

/* Begins a transaction. If the database is open for writing, no other process writes until its
 * end. */
int db__begin(struct db *d);
/* For a writer that waits for other things between transactions, as files or sacct: from now on it
 * can write in transactions only, and other processes may write outside of them. db__begin() waits
 * for these, up to a minute; -EBUSY: one still writes; -ESTALE: one has made the index anew. Both
 * are logged. */
void db__share(struct db *d);
/* db__run() in a transaction of its own. */
int db__write(struct db *d, const char *sql, const struct db_value *args, unsigned nargs);
/* An error also ends the transaction: nothing of it is stored. */
int db__commit(struct db *d);
/* Does nothing if an error has already ended the transaction. */
void db__rollback(struct db *d);

/* Stops statements with -ETIME when so many seconds from now are over; 0: never. */
void db__limit(struct db *d, double seconds);

/* Removes deleted data from the files of a database that is open for writing, outside of a
 * transaction; on a server their space becomes free for other rows only. 0 or -errno, logged. */
int db__scrub(struct db *d);
/* Looks for damage, and for a version of the engine that can cause some. 0 or an error, as
 * -EBADMSG; what it finds is logged. */
int db__check(struct db *d);

#endif
