/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between db.c and the engines. */
#ifndef JP_INDEX_DB_ENGINE_H
#define JP_INDEX_DB_ENGINE_H

#include "index/db.h"

#define DB_TOO_LONG "the question took longer than %.6g s: narrow it, as by --since or --user"

struct db_engine {
	const char *types[4]; /* names of {id}, {text}, {real}, {keyed} */
	const char *begin;    /* begins a writer's transaction */
	int (*open)(struct db *d, const char *where, enum db_mode mode);
	void (*close)(struct db *d);
	/* sql is as in db.h, with the types replaced. */
	int (*ask)(struct db_rows *r, const char *sql, const struct db_value *args, unsigned nargs);
	bool (*next)(struct db_rows *r);
	void (*end)(struct db_rows *r);
	void (*limit)(struct db *d, double seconds);
	bool (*is_in_transaction)(struct db *d);
	/* Take and release the lock of a writer that shares (db__share()), around a transaction;
	 * NULL: there is no lock. */
	int (*lock)(struct db *d);
	void (*unlock)(struct db *d);
	int (*scrub)(struct db *d);
	int (*check)(struct db *d);
};

struct db {
	const struct db_engine *engine;
	char *name; /* for messages: the place, without a password */
	enum db_mode mode;
	bool shares; /* the writer's lock is taken in transactions only */
	void *own;   /* data of the engine */
};

extern const struct db_engine db_sqlite, db_postgresql;

#endif
