/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that an engine of db.h has. */
#ifndef JP_INDEX_DB_ENGINE_H
#define JP_INDEX_DB_ENGINE_H

#include "index/db.h"

#define DB_TOO_LONG "the question took longer than %.6g s: narrow it, as by --since or --user"

struct db_engine {
	const char *types[3]; /* of {id}, {text}, {real} */
	const char *begin;    /* the transaction of who writes */
	int (*open)(struct db *d, const char *where, enum db_mode mode);
	void (*close)(struct db *d);
	/* sql as db.h has it, but for the types. */
	int (*ask)(struct db_rows *r, const char *sql, const struct db_value *args, unsigned nargs);
	bool (*next)(struct db_rows *r);
	void (*end)(struct db_rows *r);
	void (*limit)(struct db *d, double seconds);
	bool (*is_in_transaction)(struct db *d);
	/* Called around each transaction of a writer that shares (db__share()); NULL: the engine
	 * needs no lock. */
	int (*lock)(struct db *d);
	void (*unlock)(struct db *d);
	int (*scrub)(struct db *d);
	int (*check)(struct db *d);
};

struct db {
	const struct db_engine *engine;
	char *name; /* for messages: where it is, without a password */
	enum db_mode mode;
	bool shares; /* the writer's lock is held in transactions alone */
	void *own;   /* the engine's */
};

extern const struct db_engine db_sqlite, db_postgresql;

#endif
