/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a database that is the same for both engines. */
#include "index/db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "index/db_engine.h"

static bool is_url(const char *where)
{
	return str__starts(where, "postgresql://") || str__starts(where, "postgres://");
}

/* An address is not shown at all if libpq would split it differently than its author intended, as
 * one with "/" or "@" in the password, also before a "?". */
char *db__name_of(const char *where)
{
	const char *from, *at;
	char *name = NULL;
	int n;

	if (!is_url(where))
		return strdup(where);
	from = strstr(where, "://") + 3;
	at = from + strcspn(from, "@/");
	if (*at == '@')
		from = at + 1;
	n = (int)strcspn(from, "?");
	if (strchr(from, '@'))
		return strdup("postgresql://...");
	return asprintf(&name, "postgresql://%.*s", n, from) < 0 ? NULL : name;
}

int db__open(struct db **out, const char *where, enum db_mode mode)
{
	struct db *d = calloc(1, sizeof(*d));
	int err;

	*out = NULL;
	if (d) {
		d->engine = is_url(where) ? &db_postgresql : &db_sqlite;
		d->name = db__name_of(where);
		d->mode = mode;
	}
	if (!d || !d->name) {
		log_error("%s", strerror(ENOMEM));
		free(d);
		return -ENOMEM;
	}
	err = d->engine->open(d, where, mode);
	if (err)
		db__close(d);
	else
		*out = d;
	return err;
}

void db__close(struct db *d)
{
	if (!d)
		return;
	d->engine->close(d);
	free(d->name);
	free(d);
}

const char *db__name(const struct db *d)
{
	return d->name;
}

bool db__is_postgresql(const struct db *d)
{
	return d->engine == &db_postgresql;
}

#define WORDS	 4
#define TYPE_MAX 64 /* bytes of a type's name */

/* Replaces {id}, {text}, {real} and {keyed} by the engine's words. NULL: no memory. */
static char *with_types(const struct db_engine *e, const char *sql)
{
	static const char *const words[WORDS] = {"{id}", "{text}", "{real}", "{keyed}"};
	size_t room = strlen(sql) + 1;
	char *text, *to;

	for (const char *p = strchr(sql, '{'); p; p = strchr(p + 1, '{'))
		room += TYPE_MAX;
	to = text = malloc(room);

	while (text && *sql) {
		unsigned i = 0;

		while (i < WORDS && !str__starts(sql, words[i]))
			i++;
		if (i == WORDS) {
			*to++ = *sql++;
			continue;
		}
		to = stpcpy(to, e->types[i]);
		sql += strlen(words[i]);
	}
	if (text)
		*to = '\0';
	return text;
}

int db__ask(struct db_rows *r, struct db *d, const char *sql, const struct db_value *args,
	    unsigned nargs)
{
	char *text = strchr(sql, '{') ? with_types(d->engine, sql) : NULL;

	*r = (struct db_rows){.db = d};
	if (strchr(sql, '{') && !text) {
		log_error("%s", strerror(ENOMEM));
		return r->err = -ENOMEM;
	}
	r->err = d->engine->ask(r, text ? text : sql, args, nargs);
	free(text);
	return r->err;
}

bool db_rows__next(struct db_rows *r)
{
	return !r->err && r->db->engine->next(r);
}

int db_rows__end(struct db_rows *r, int err)
{
	if (r->engine)
		r->db->engine->end(r);
	r->engine = NULL;
	return err ? err : r->err;
}

int db__run(struct db *d, const char *sql, const struct db_value *args, unsigned nargs)
{
	struct db_rows r;
	int err = db__ask(&r, d, sql, args, nargs);

	while (!err && db_rows__next(&r))
		;
	return db_rows__end(&r, err);
}

double db__number(struct db *d, int *err, const char *sql, const struct db_value *args,
		  unsigned nargs)
{
	struct db_rows r;
	double v = NAN;

	*err = db__ask(&r, d, sql, args, nargs);
	if (!*err && db_rows__next(&r) && r.n)
		v = db_value__number(&r.v[0]);
	*err = db_rows__end(&r, 0);
	return v;
}

static void unlock(struct db *d)
{
	if (d->shares)
		d->engine->unlock(d);
}

int db__begin(struct db *d)
{
	int err = d->shares ? d->engine->lock(d) : 0;

	if (err)
		return err;
	err = db__run(d, d->mode == DB_READ ? "BEGIN" : d->engine->begin, NULL, 0);
	if (err)
		unlock(d);
	return err;
}

int db__commit(struct db *d)
{
	int err = db__run(d, "COMMIT", NULL, 0);

	if (err)
		db__rollback(d);
	else
		unlock(d);
	return err;
}

void db__rollback(struct db *d)
{
	if (d->engine->is_in_transaction(d))
		db__run(d, "ROLLBACK", NULL, 0);
	unlock(d);
}

void db__share(struct db *d)
{
	if (d->shares || d->mode == DB_READ || !d->engine->unlock)
		return;
	d->shares = true;
	unlock(d);
}

int db__write(struct db *d, const char *sql, const struct db_value *args, unsigned nargs)
{
	int err = db__begin(d);

	if (err)
		return err;
	err = db__run(d, sql, args, nargs);
	if (!err)
		return db__commit(d);
	db__rollback(d);
	return err;
}

void db__limit(struct db *d, double seconds)
{
	d->engine->limit(d, seconds);
}

int db__scrub(struct db *d)
{
	return d->engine->scrub(d);
}

int db__check(struct db *d)
{
	return d->engine->check(d);
}
