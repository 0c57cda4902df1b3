/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What user/index/db.h promises of a database, in SQLite; with the address of an empty database of
 * a PostgreSQL server as an argument in that, for tests/e2e/site/postgresql.py. */

#include "tests/unit/unit.h"
#include "index/db.h"
#include "index/index.h"
#include "index/schema.h"

static const char *address; /* NULL: a new file for each test */
static struct db *d;

static int open_db(void **state)
{
	static unsigned n;
	char name[32];

	snprintf(name, sizeof(name), "%u.db", n++);
	return db__open(&d, address ? address : in_dir(name), DB_WRITE);
}

static int close_db(void **state)
{
	if (address) {
		db__rollback(d);
		db__run(d, "DROP TABLE IF EXISTS t, u, meta, job", NULL, 0);
	}
	db__close(d);
	return 0;
}

static void run(const char *sql)
{
	assert_int_equal(db__run(d, sql, NULL, 0), 0);
}

static double number(const char *sql)
{
	int err;
	double v = db__number(d, &err, sql, NULL, 0);

	assert_int_equal(err, 0);
	return v;
}

static void numbers_to(int n)
{
	run("CREATE TABLE t (id {id}, i BIGINT, x {real}, s {text})");
	for (int i = 0; i < n; i++) {
		const struct db_value args[] = {db_value__int(i), db_value__real(i / 7.0),
						db_value__text(i % 2 ? "odd" : "even")};

		assert_int_equal(db__run(d, "INSERT INTO t (i, x, s) VALUES (?, ?, ?)", args, 3),
				 0);
	}
}

TEST(values_come_back_as_they_were_put)
{
	const char *const hostile = "it's \"$1\" ? \\ %s \xc3\xa4\xe2\x82\xac; DROP TABLE t";
	const struct db_value args[] = {db_value__int(INT64_C(-9007199254740993)),
					db_value__real(0.1), db_value__text(hostile)};
	struct db_rows r;

	run("CREATE TABLE t (id {id}, i BIGINT, x {real}, s {text})");
	assert_int_equal(db__run(d, "INSERT INTO t (i, x, s) VALUES (?, ?, ?)", args, 3), 0);
	assert_int_equal(
		db__ask(&r, d, "SELECT i, x, s, '?', NULL, i < 0, \"x\" > 1 FROM t", NULL, 0), 0);
	assert_true(db_rows__next(&r));
	assert_int_equal(r.n, 7);
	assert_int_equal(r.v[0].type, DB_INT);
	assert_true(r.v[0].i == INT64_C(-9007199254740993));
	assert_int_equal(r.v[1].type, DB_REAL);
	assert_true(r.v[1].real == 0.1);
	assert_string_equal(r.v[2].text, hostile);
	assert_string_equal(r.v[3].text, "?");
	assert_int_equal(r.v[4].type, DB_NULL);
	assert_true(r.v[5].type == DB_INT && r.v[5].i == 1);
	assert_true(r.v[6].type == DB_INT && r.v[6].i == 0);
	assert_false(db_rows__next(&r));
	assert_false(db_rows__next(&r));
	db_rows__end(&r, 0);
}

TEST(what_is_not_known_is_null)
{
	const struct db_value args[] = {db_value__real(NAN), db_value__real(INFINITY),
					db_value__text(NULL)};

	run("CREATE TABLE t (i {real}, x {real}, s {text})");
	assert_int_equal(db__run(d, "INSERT INTO t (i, x, s) VALUES (?, ?, ?)", args, 3), 0);
	assert_true(number("SELECT count(*) FROM t WHERE i IS NULL AND x IS NULL AND s IS NULL") ==
		    1);
	assert_true(isnan(number("SELECT sum(x) FROM t")));
	assert_true(isnan(number("SELECT x FROM t WHERE s = 'a'")));
}

TEST(texts_are_compared_byte_by_byte)
{
	run("CREATE TABLE t (s {text})");
	run("INSERT INTO t (s) VALUES ('a'), ('B'), ('\xc3\xa4'), ('z')");
	assert_true(number("SELECT count(*) FROM t WHERE s LIKE 'b%' ESCAPE '\\'") == 0);
	assert_true(number("SELECT count(*) FROM t WHERE s < 'a'") == 1);
	assert_true(number("SELECT count(*) FROM t WHERE s > 'z'") == 1);
}

/* The same text twice at once, another one meanwhile, and the first one goes on. */
TEST(several_questions_at_once)
{
	struct db_rows a, b;
	int n = 0;

	numbers_to(300);
	assert_int_equal(db__ask(&a, d, "SELECT i, s FROM t ORDER BY i", NULL, 0), 0);
	while (db_rows__next(&a)) {
		assert_true(a.v[0].i == n);
		if (n % 50 == 3) {
			assert_int_equal(db__ask(&b, d, "SELECT i, s FROM t ORDER BY i", NULL, 0),
					 0);
			for (int i = 0; i < n; i++)
				assert_true(db_rows__next(&b) && b.v[0].i == i);
			assert_true(number("SELECT count(*) FROM t") == 300);
			db_rows__end(&b, 0); /* before its end */
		}
		assert_string_equal(a.v[1].text, n % 2 ? "odd" : "even");
		n++;
	}
	assert_int_equal(a.err, 0);
	db_rows__end(&a, 0);
	assert_int_equal(n, 300);
}

TEST(more_texts_of_statements_than_are_kept)
{
	char sql[64];

	run("CREATE TABLE t (i BIGINT)");
	run("INSERT INTO t (i) VALUES (1)");
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 150; i++) {
			snprintf(sql, sizeof(sql), "SELECT i + %d FROM t", i);
			assert_true(number(sql) == 1 + i);
		}
}

TEST(an_error_is_an_error_of_its_statement)
{
	struct db_rows r;

	run("CREATE TABLE t (i BIGINT PRIMARY KEY)");
	run("INSERT INTO t (i) VALUES (1)");
	assert_true(db__run(d, "INSERT INTO t (i) VALUES (1)", NULL, 0) < 0);
	assert_true(db__run(d, "SELECT a FROM nowhere", NULL, 0) < 0);
	assert_true(db__ask(&r, d, "SELECT i FROM", NULL, 0) < 0);
	assert_false(db_rows__next(&r));
	db_rows__end(&r, 0);
	run("INSERT INTO t (i) VALUES (2)");
	assert_true(number("SELECT count(*) FROM t") == 2);
}

TEST(a_transaction_is_all_or_nothing)
{
	run("CREATE TABLE t (i BIGINT PRIMARY KEY)");
	assert_int_equal(db__begin(d), 0);
	run("INSERT INTO t (i) VALUES (1)");
	assert_true(db__run(d, "INSERT INTO t (i) VALUES (1)", NULL, 0) < 0);
	db__rollback(d);
	db__rollback(d); /* there is none: nothing is said */
	assert_true(number("SELECT count(*) FROM t") == 0);
	assert_int_equal(db__begin(d), 0);
	run("INSERT INTO t (i) VALUES (1)");
	assert_int_equal(db__commit(d), 0);
	assert_int_equal(db__begin(d), 0);
	assert_int_equal(db__commit(d), 0);
	assert_true(number("SELECT count(*) FROM t") == 1);
}

/* Of PostgreSQL, which calls the end of a failed transaction a success. */
TEST(a_commit_after_an_error_is_none)
{
	if (!address)
		return;
	run("CREATE TABLE t (i BIGINT PRIMARY KEY)");
	assert_int_equal(db__begin(d), 0);
	run("INSERT INTO t (i) VALUES (1)");
	assert_true(db__run(d, "INSERT INTO t (i) VALUES (1)", NULL, 0) < 0);
	assert_true(db__commit(d) < 0);
	assert_true(number("SELECT count(*) FROM t") == 0);
}

#define ENDLESS "SELECT count(*) FROM t a, t b, t c, t d, t e WHERE a.i + b.i + c.i + d.i + e.i < 0"

TEST(a_question_that_takes_too_long)
{
	struct db_rows r;

	numbers_to(2000);
	db__limit(d, 0.2);
	assert_int_equal(db__run(d, ENDLESS, NULL, 0), -ETIME);
	assert_int_equal(db__ask(&r, d, ENDLESS, NULL, 0), -ETIME);
	db_rows__end(&r, 0);
	db__limit(d, 0);
	assert_true(number("SELECT count(*) FROM t") == 2000);
}

/* ---- the schema */

static const char *const first[] = {"ALTER TABLE u ADD COLUMN b BIGINT", "UPDATE u SET b = a * 2",
				    NULL};
static const char *const second[] = {"UPDATE u SET b = b + 1", NULL};
static const char *const wrong[] = {"DELETE FROM u", "UPDATE nowhere SET b = 1", NULL};
static const struct schema_step steps[] = {{3, first}, {5, second}, {6, wrong}};

static void make_tables(void)
{
	run("CREATE TABLE job (id {id}, job_id BIGINT)");
	run("INSERT INTO job (job_id) VALUES (7)");
	run("CREATE TABLE u (a BIGINT)");
	run("INSERT INTO u (a) VALUES (20)");
	run("CREATE TABLE meta (key {text} PRIMARY KEY, value {text})");
	run("INSERT INTO meta (key, value) VALUES ('version', '3')");
}

TEST(tables_of_an_earlier_version_are_brought_forward)
{
	make_tables();
	assert_int_equal(db__begin(d), 0);
	assert_int_equal(schema__upgrade(d, steps, 2, 3, 6), 0);
	assert_int_equal(db__commit(d), 0);
	assert_true(number("SELECT b FROM u") == 41);
	assert_true(number("SELECT CAST(value AS BIGINT) FROM meta") == 6);
	/* columns of job are there, and what it had has stayed */
	assert_true(number("SELECT job_id FROM job WHERE \"user\" = '' AND lost_core_s IS NULL") ==
		    7);
}

TEST(from_a_version_in_between)
{
	make_tables();
	assert_int_equal(db__begin(d), 0);
	run("ALTER TABLE u ADD COLUMN b BIGINT");
	run("UPDATE u SET b = 1");
	assert_int_equal(schema__upgrade(d, steps, 2, 4, 6), 0);
	assert_int_equal(db__commit(d), 0);
	assert_true(number("SELECT b FROM u") == 2);
}

TEST(a_step_that_fails_leaves_the_earlier_version)
{
	make_tables();
	assert_int_equal(db__begin(d), 0);
	assert_true(schema__upgrade(d, steps, 3, 3, 7) < 0);
	db__rollback(d);
	assert_true(number("SELECT a FROM u") == 20);
	assert_true(number("SELECT CAST(value AS BIGINT) FROM meta") == 3);
}

/* ---- addresses */

TEST(an_address_is_shown_without_its_password)
{
	static const char *const cases[][2] = {
		{"postgresql://u:secret@db:5432/jobs?sslmode=require", "postgresql://db:5432/jobs"},
		{"postgresql://u@db/jobs", "postgresql://db/jobs"},
		{"postgres://db/jobs?password=secret", "postgresql://db/jobs"},
		{"postgresql:///jobs?host=/run/postgresql", "postgresql:///jobs"},
		{"postgresql://u:se/cret@db/jobs", "postgresql://..."},
		{"postgresql://u:se@cret@db/jobs", "postgresql://..."},
		{"postgresql://u:se?cret@db/jobs", "postgresql://db/jobs"},
		{"postgresql://u:s/ec?ret@db/jobs", "postgresql://..."},
		{"postgresql://u:s@ec?ret@db/jobs", "postgresql://..."},
		{"/var/lib/a:b@c/index.db", "/var/lib/a:b@c/index.db"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = db__name_of(cases[i][0]);

		assert_string_equal(name, cases[i][1]);
		free(name);
	}
}

static int in_postgresql(char **args)
{
	address = args[0];
	for (size_t i = 0; i < n_unit_tests; i++) {
		unit_tests[i].setup_func = open_db;
		unit_tests[i].teardown_func = close_db;
	}
	return _cmocka_run_group_tests("PostgreSQL", unit_tests, n_unit_tests, NULL, NULL);
}

static struct unit_fixture fixture = {
	.setup = open_db, .teardown = close_db, .with_args = in_postgresql};
