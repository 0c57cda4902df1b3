/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PostgreSQL engine. Its library is loaded when an address is opened, for it loads others (TLS,
 * Kerberos, LDAP) that a verb on files should not wait for. Rows come one at a time, as the server
 * sends them; if another statement follows before their end, the rest is stored in memory.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/room.h"
#include "base/str.h"
#include "index/db_engine.h"

#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#define HAS_LIBPQ
#elif __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#define HAS_LIBPQ
#endif

#ifdef HAS_LIBPQ
#include <dlfcn.h>

#define LIBRARY	    "libpq.so.5"
#define CACHED	    64	   /* prepared statements, found by their text */
#define VERSION_MIN 120000 /* of the server */
#define NUMBER	    32	   /* bytes of a number as text */

/* Types of cells, by their numbers in pg_type. */
enum { BOOL = 16, INT8 = 20, INT2 = 21, INT4 = 23, FLOAT4 = 700, FLOAT8 = 701, NUMERIC = 1700 };

#define FUNCTIONS(X)            \
	X(PQclear)              \
	X(PQconnectdbParams)    \
	X(PQconninfoFree)       \
	X(PQconninfoParse)      \
	X(PQerrorMessage)       \
	X(PQfinish)             \
	X(PQfreemem)            \
	X(PQftype)              \
	X(PQgetisnull)          \
	X(PQgetResult)          \
	X(PQgetvalue)           \
	X(PQnfields)            \
	X(PQparameterStatus)    \
	X(PQprepare)            \
	X(PQresultErrorField)   \
	X(PQresultStatus)       \
	X(PQsendQuery)          \
	X(PQsendQueryPrepared)  \
	X(PQserverVersion)      \
	X(PQsetNoticeProcessor) \
	X(PQsetSingleRowMode)   \
	X(PQstatus)             \
	X(PQtransactionStatus)

static struct {
#define POINTER(function) typeof(function) *function;
	FUNCTIONS(POINTER)
} pq;

struct prepared {
	char *sql;
	char name[16];
};

struct postgresql {
	PGconn *conn;
	bool is_lost; /* the connection, which was logged */
	struct prepared cache[CACHED];
	unsigned next;	       /* the entry to be replaced */
	unsigned made;	       /* names given so far */
	struct cursor *active; /* the server is sending its rows */
	double limit_s;	       /* 0: none */
	uint64_t until_ns;
};

/* The rows of a statement. */
struct cursor {
	PGresult **rows; /* received and not returned yet: rows[at], ..., rows[n - 1] */
	unsigned n, at;
	PGresult *row; /* the current row, whose cells are in v */
	struct db_value *v;
	int err; /* it was logged */
};

/* Loads the library. 0, or -ENOTSUP, logged. */
static int load(void)
{
	static void *lib;
	const char *missing = NULL;

	if (lib)
		return 0;
	lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		log_error("PostgreSQL: %s; Debian's package is libpq5", dlerror());
		return -ENOTSUP;
	}
#define FIND(function)                                  \
	*(void **)&pq.function = dlsym(lib, #function); \
	missing = pq.function ? missing : #function;
	FUNCTIONS(FIND)
	if (!missing)
		return 0;
	log_error("PostgreSQL: " LIBRARY " has no %s", missing);
	dlclose(lib);
	lib = NULL;
	return -ENOTSUP;
}

/* ---- errors */

/* Converts SQLSTATE, by its first characters. */
static int errno_of(const char *state)
{
	static const struct {
		const char *state;
		int err;
	} errors[] = {
		{"57014", -ETIME},   {"53100", -ENOSPC},   {"53200", -ENOMEM},	{"53300", -EBUSY},
		{"40", -EBUSY},	     {"55P03", -EBUSY},	   {"42501", -EACCES},	{"28", -EACCES},
		{"25006", -EROFS},   {"23505", -EEXIST},   {"XX001", -EBADMSG}, {"XX002", -EBADMSG},
		{"08", -ECONNRESET}, {"57P", -ECONNRESET},
	};

	for (size_t i = 0; state && i < sizeof(errors) / sizeof(*errors); i++)
		if (str__starts(state, errors[i].state))
			return errors[i].err;
	return -EIO;
}

/* Copies a message as one line without trailing blanks: libpq ends each line with a newline. */
static void one_line(char *to, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++)
		if (*text != '\n' && *text != '\t')
			to[n++] = *text;
		else if (n && to[n - 1] != ' ')
			to[n++] = ' ';
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
}

/* Logs the error of a statement; without res that of the connection. Returns -errno. */
static int complain(const struct db *d, const PGresult *res)
{
	struct postgresql *s = d->own;
	const char *said = res ? pq.PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	int err = errno_of(res ? pq.PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL);
	const bool is_bad = pq.PQstatus(s->conn) == CONNECTION_BAD || err == -ECONNRESET;
	char text[512];

	if (is_bad && s->is_lost)
		return -ECONNRESET;
	one_line(text, sizeof(text), said ? said : pq.PQerrorMessage(s->conn));
	s->is_lost = is_bad;
	if (is_bad)
		log_error("%s: the connection is lost: %s", d->name, text);
	else if (err == -ETIME && s->until_ns)
		log_error("%s: " DB_TOO_LONG, d->name, s->limit_s);
	else
		log_error("%s: %s", d->name, text);
	return is_bad ? -ECONNRESET : err;
}

static int no_memory(const struct db *d)
{
	log_error("%s: %s", d->name, strerror(ENOMEM));
	return -ENOMEM;
}

/* ---- rows */

/* Receives the next row; NULL: there is none, or c->err. */
static PGresult *receive(struct db *d, struct cursor *c)
{
	struct postgresql *s = d->own;
	PGresult *res;

	while ((res = pq.PQgetResult(s->conn))) {
		ExecStatusType status = pq.PQresultStatus(res);

		if (status == PGRES_SINGLE_TUPLE)
			return res;
		if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK &&
		    status != PGRES_EMPTY_QUERY && !c->err)
			c->err = complain(d, res);
		pq.PQclear(res);
	}
	s->active = NULL;
	return NULL;
}

static int store(struct db *d, struct cursor *c, PGresult *row)
{
	if (room__grow(&c->rows, c->n, 1, sizeof(PGresult *))) {
		pq.PQclear(row);
		return no_memory(d);
	}
	c->rows[c->n++] = row;
	return 0;
}

/* Stores the rows that the server is still sending: another statement needs the connection. */
static void store_rest(struct db *d)
{
	const struct postgresql *s = d->own;
	struct cursor *c = s->active;
	PGresult *row;

	while (c && (row = receive(d, c)))
		if (c->err)
			pq.PQclear(row);
		else
			c->err = store(d, c, row);
}

static struct db_value number_of(const char *text)
{
	char *end;
	long long i;

	if (strpbrk(text, ".eEnN")) /* "NaN" and "Infinity" become NULL, as all such doubles */
		return db_value__real(strtod(text, NULL));
	errno = 0;
	i = strtoll(text, &end, 10);
	return errno || *end ? db_value__real(strtod(text, NULL)) : db_value__int(i);
}

static struct db_value cell_of(const PGresult *row, int i)
{
	const char *text = pq.PQgetvalue(row, 0, i);

	if (pq.PQgetisnull(row, 0, i))
		return (struct db_value){0};
	switch (pq.PQftype(row, i)) {
	case BOOL:
		return db_value__int(*text == 't');
	case INT2:
	case INT4:
	case INT8:
	case NUMERIC: /* a whole one is a sum of integers */
		return number_of(text);
	case FLOAT4:
	case FLOAT8:
		return db_value__real(strtod(text, NULL));
	default:
		return db_value__text(text);
	}
}

static bool postgresql_next(struct db_rows *r)
{
	const struct postgresql *s = r->db->own;
	struct cursor *c = r->engine;

	pq.PQclear(c->row);
	c->row = c->at < c->n ? c->rows[c->at++] : s->active == c ? receive(r->db, c) : NULL;
	if (!c->row) {
		r->err = c->err;
		return false;
	}
	r->n = (unsigned)pq.PQnfields(c->row);
	if (!c->v)
		r->v = c->v = calloc(r->n + 1, sizeof(*c->v));
	if (!c->v) {
		r->err = no_memory(r->db);
		return false;
	}
	for (unsigned i = 0; i < r->n; i++)
		c->v[i] = cell_of(c->row, (int)i);
	return true;
}

static void postgresql_end(struct db_rows *r)
{
	const struct postgresql *s = r->db->own;
	struct cursor *c = r->engine;
	PGresult *row;

	while (s->active == c && (row = receive(r->db, c)))
		pq.PQclear(row);
	while (c->at < c->n)
		pq.PQclear(c->rows[c->at++]);
	pq.PQclear(c->row);
	free(c->rows);
	free(c->v);
	free(c);
}

/* ---- statements */

/* Replaces "?" by $1, $2, ..., but not in quotes. NULL: no memory. */
static char *with_numbers(const char *sql)
{
	size_t room = strlen(sql) + 1;
	unsigned n = 0;
	char quote = 0, *text, *to;

	for (const char *p = strchr(sql, '?'); p; p = strchr(p + 1, '?'))
		room += 8;
	to = text = malloc(room);
	for (; text && *sql; sql++) {
		if (quote ? *sql == quote : *sql == '\'' || *sql == '"')
			quote = quote ? 0 : *sql;
		if (*sql == '?' && !quote)
			to += sprintf(to, "$%u", ++n);
		else
			*to++ = *sql;
	}
	if (text)
		*to = '\0';
	return text;
}

static int run(struct db *d, const char *sql)
{
	struct db_rows r = {.db = d};
	int err = d->engine->ask(&r, sql, NULL, 0);

	while (!err && postgresql_next(&r))
		;
	err = err ? err : r.err;
	if (r.engine)
		postgresql_end(&r);
	return err;
}

static int deallocate(struct db *d, struct prepared *p)
{
	char sql[64];

	if (!p->sql)
		return 0;
	snprintf(sql, sizeof(sql), "DEALLOCATE %s", p->name);
	free(p->sql);
	p->sql = NULL;
	return run(d, sql);
}

/* The prepared statement of this text. NULL: the error is logged, and in *err. */
static const struct prepared *find(struct db *d, const char *sql, int *err)
{
	struct postgresql *s = d->own;
	struct prepared *to = &s->cache[s->next];
	PGresult *res;
	char *text;

	for (unsigned i = 0; i < CACHED; i++)
		if (s->cache[i].sql && !strcmp(s->cache[i].sql, sql))
			return &s->cache[i];
	s->next = (s->next + 1) % CACHED;
	*err = deallocate(d, to);
	if (*err)
		return NULL;
	text = with_numbers(sql);
	to->sql = strdup(sql);
	snprintf(to->name, sizeof(to->name), "s%u", s->made++);
	res = text && to->sql ? pq.PQprepare(s->conn, to->name, text, 0, NULL) : NULL;
	if (!text || !to->sql)
		*err = no_memory(d);
	else if (pq.PQresultStatus(res) != PGRES_COMMAND_OK)
		*err = complain(d, res);
	pq.PQclear(res);
	free(text);
	if (!*err)
		return to;
	free(to->sql);
	to->sql = NULL;
	return NULL;
}

/* Sends a statement with its arguments, as texts: the server knows their types. 1; 0: it could
 * not. */
static int send(struct db *d, const struct prepared *p, const struct db_value *args, unsigned nargs)
{
	struct postgresql *s = d->own;
	const char *values[nargs + 1];
	char numbers[nargs + 1][NUMBER];

	for (unsigned i = 0; i < nargs; i++) {
		const struct db_value *v = &args[i];

		if (v->type == DB_INT)
			snprintf(numbers[i], NUMBER, "%lld", (long long)v->i);
		else if (v->type == DB_REAL)
			snprintf(numbers[i], NUMBER, "%.17g", v->real);
		values[i] = v->type == DB_NULL ? NULL : v->type == DB_TEXT ? v->text : numbers[i];
	}
	return pq.PQsendQueryPrepared(s->conn, p->name, (int)nargs, values, NULL, NULL, 0);
}

/* Whether a statement may run more than once. The others, as BEGIN, are sent unprepared. */
static bool is_prepared(const char *sql)
{
	return str__starts(sql, "SELECT") || str__starts(sql, "WITH") ||
	       str__starts(sql, "INSERT") || str__starts(sql, "UPDATE") ||
	       str__starts(sql, "DELETE");
}

static int postgresql_ask(struct db_rows *r, const char *sql, const struct db_value *args,
			  unsigned nargs)
{
	struct postgresql *s = r->db->own;
	const struct prepared *p = NULL;
	struct cursor *c;
	PGresult *first;
	int err = 0;

	store_rest(r->db);
	if (s->until_ns && clock__boot_ns() > s->until_ns) {
		log_error("%s: " DB_TOO_LONG, r->db->name, s->limit_s);
		return -ETIME;
	}
	/* Here the server would roll back, and report success. */
	if (!strcmp(sql, "COMMIT") && pq.PQtransactionStatus(s->conn) == PQTRANS_INERROR) {
		log_error("%s: nothing is stored, for a statement has failed", r->db->name);
		return -ECANCELED;
	}
	if (is_prepared(sql) && !(p = find(r->db, sql, &err)))
		return err;
	r->engine = c = calloc(1, sizeof(*c));
	if (!c)
		return no_memory(r->db);
	if (!(p ? send(r->db, p, args, nargs) : pq.PQsendQuery(s->conn, sql)))
		return complain(r->db, NULL);
	pq.PQsetSingleRowMode(s->conn);
	s->active = c;
	/* The server finds most errors before it sends the first row. */
	first = receive(r->db, c);
	if (first)
		c->err = store(r->db, c, first);
	return c->err;
}

static void postgresql_limit(struct db *d, double seconds)
{
	struct postgresql *s = d->own;
	char sql[64];

	s->until_ns = 0;
	s->limit_s = seconds;
	snprintf(sql, sizeof(sql), "SET statement_timeout = %.0f",
		 seconds > 0 ? ceil(seconds * 1000) : 0);
	run(d, sql);
	if (seconds > 0)
		s->until_ns = clock__boot_ns() + (uint64_t)(seconds * 1e9);
}

static bool postgresql_is_in_transaction(struct db *d)
{
	const struct postgresql *s = d->own;
	PGTransactionStatusType status = pq.PQtransactionStatus(s->conn);

	return status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN;
}

static int postgresql_scrub(struct db *d)
{
	store_rest(d);
	return run(d, "VACUUM job, job_node, job_fs, finding, contact, pseudonym, day, month, "
		      "day_rule, hist, dirty");
}

static int postgresql_check(struct db *d)
{
	return 0;
}

/* ---- the connection */

/* Checks the address: libpq's message on a bad one may contain parts of a password. */
static int check_address(const struct db *d, const char *where)
{
	char *said = NULL;
	PQconninfoOption *options = pq.PQconninfoParse(where, &said);
	bool is_good = options != NULL;

	for (PQconninfoOption *o = options; o && o->keyword; o++)
		if (o->val && ((!strcmp(o->keyword, "port") &&
				strspn(o->val, "0123456789,") != strlen(o->val)) ||
			       (!strcmp(o->keyword, "host") && strchr(o->val, '@')) ||
			       (!strcmp(o->keyword, "dbname") && strchr(o->val, '@'))))
			is_good = false;
	pq.PQconninfoFree(options);
	if (said)
		pq.PQfreemem(said);
	if (is_good)
		return 0;
	log_error("%s: this is no address, as postgresql://USER@HOST:PORT/DATABASE; in a password "
		  "%%40 stands for @, %%2F for /",
		  d->name);
	return -EINVAL;
}

static void ignore(void *arg, const char *text)
{
}

static int set_up(struct db *d)
{
	static const char all[] = "SET client_min_messages = error; SET extra_float_digits = 1; "
				  "SET standard_conforming_strings = on; SET jit = off; ";
	static const char reader[] = "SET default_transaction_read_only = on";
	static const char writer[] = "SET idle_in_transaction_session_timeout = 0";
	struct postgresql *s = d->own;
	const char *encoding = pq.PQparameterStatus(s->conn, "server_encoding");
	char sql[sizeof(all) + sizeof(writer)];

	if (pq.PQserverVersion(s->conn) < VERSION_MIN) {
		log_error("%s: the server is of version %d; %d is needed", d->name,
			  pq.PQserverVersion(s->conn) / 10000, VERSION_MIN / 10000);
		return -ENOTSUP;
	}
	if (!encoding || strcmp(encoding, "UTF8")) {
		log_error("%s: texts of this database are in %s; they must be in UTF8", d->name,
			  encoding ? encoding : "an unknown encoding");
		return -ENOTSUP;
	}
	snprintf(sql, sizeof(sql), "%s%s", all, d->mode == DB_READ ? reader : writer);
	return run(d, sql);
}

static int postgresql_open(struct db *d, const char *where, enum db_mode mode)
{
	/* What the address sets replaces the values above it. Keepalives detect a server that
	 * vanished. */
	static const char *const keys[] = {"fallback_application_name",
					   "connect_timeout",
					   "keepalives_idle",
					   "keepalives_interval",
					   "keepalives_count",
					   "tcp_user_timeout",
					   "dbname",
					   "client_encoding",
					   NULL};
	const char *const values[] = {"jobprof", "10",	"30",	"10", "3",
				      "60000",	 where, "UTF8", NULL};
	struct postgresql *s;
	char text[512];
	int err = load();

	if (!err)
		err = check_address(d, where);
	if (err)
		return err;
	s = d->own = calloc(1, sizeof(*s));
	if (s)
		s->conn = pq.PQconnectdbParams(keys, values, 1);
	if (!s || !s->conn)
		return no_memory(d);
	if (pq.PQstatus(s->conn) == CONNECTION_OK) {
		pq.PQsetNoticeProcessor(s->conn, ignore, NULL);
		return set_up(d);
	}
	one_line(text, sizeof(text), pq.PQerrorMessage(s->conn));
	log_error("%s: %s", d->name, text);
	return -ECONNRESET;
}

static void postgresql_close(struct db *d)
{
	struct postgresql *s = d->own;

	if (!s)
		return;
	for (unsigned i = 0; i < CACHED; i++)
		free(s->cache[i].sql);
	if (s->conn)
		pq.PQfinish(s->conn);
	free(s);
}

const struct db_engine db_postgresql = {
	.types = {"BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "TEXT COLLATE \"C\"",
		  "DOUBLE PRECISION", ""},
	/* Statements after the lock must see what others have committed, which a snapshot from
	 * before the lock lacks. The number of the lock is "jobprof" in ASCII. */
	.begin = "BEGIN ISOLATION LEVEL READ COMMITTED; "
		 "SELECT pg_advisory_xact_lock(29958816115355494)",
	.open = postgresql_open,
	.close = postgresql_close,
	.ask = postgresql_ask,
	.next = postgresql_next,
	.end = postgresql_end,
	.limit = postgresql_limit,
	.is_in_transaction = postgresql_is_in_transaction,
	.scrub = postgresql_scrub,
	.check = postgresql_check,
};

#else

static int postgresql_open(struct db *d, const char *where, enum db_mode mode)
{
	log_error("%s: this jobprof was built without libpq, PostgreSQL's library", d->name);
	return -ENOTSUP;
}

static void postgresql_close(struct db *d)
{
}

const struct db_engine db_postgresql = {.open = postgresql_open, .close = postgresql_close};

#endif
