/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an engine of db.h does. */
#ifndef JP_INDEX_DB_ENGINE_H
#define JP_INDEX_DB_ENGINE_H

#include "index/db.h"

struct db_engine {
	const char *types[3]; /* of {id}, {text}, {real} */
	int (*open)(struct db *d, const char *where, enum db_mode mode);
	void (*close)(struct db *d);
	/* sql as db.h has it, but for the types. */
	int (*ask)(struct db_rows *r, const char *sql, const struct db_value *args, unsigned nargs);
	bool (*next)(struct db_rows *r);
	void (*end)(struct db_rows *r);
	void (*limit)(struct db *d, double seconds);
};

struct db {
	const struct db_engine *engine;
	const char *where; /* for messages: without a password */
	enum db_mode mode;
	void *own; /* the engine's */
};

extern const struct db_engine db_sqlite, db_postgresql;

#endif
