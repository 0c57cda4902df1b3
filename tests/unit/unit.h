/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every unit test includes this before all else: cmocka, the usual headers of the C library,
 * TEST(), main(), a directory for the test's files, and numbers that are equal but for rounding. */
#ifndef JP_TESTS_UNIT_H
#define JP_TESTS_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct CMUnitTest unit_tests[64];
static size_t n_unit_tests;

static inline void add_unit_test(struct CMUnitTest test)
{
	if (n_unit_tests == sizeof(unit_tests) / sizeof(unit_tests[0]))
		abort();
	unit_tests[n_unit_tests++] = test;
}

/* TEST(a_name) { ... } is a test. All tests of the file are run, in their order. */
#define TEST(test) TEST_WITH(test, NULL, NULL)

/* A test with a setup and a teardown of its own. */
#define TEST_WITH(test, setup, teardown)                                                \
	static void test(void **state);                                                 \
	__attribute__((constructor)) static void add_##test(void)                       \
	{                                                                               \
		add_unit_test((struct CMUnitTest){#test, test, setup, teardown, NULL}); \
	}                                                                               \
	static void test(void **state)

/* setup and teardown run around each test without its own, the others around all tests. With
 * arguments the program runs with_args() in place of the tests. A file that needs some of these
 * defines the variable, as its last line. */
struct unit_fixture {
	CMFixtureFunction setup, teardown, setup_all, teardown_all;
	int (*with_args)(char **args);
};
static struct unit_fixture fixture;

/* The directory of the program's own files: empty before the first test, removed after the last. */
static char unit_dir[] = "/tmp/jobprof-unit.XXXXXX";

/* PATH in the directory; the next seven calls leave the text as it is. */
static inline const char *in_dir(const char *path)
{
	static char full[8][PATH_MAX];
	static unsigned next;
	char *p = full[next++ % 8];

	snprintf(p, PATH_MAX, "%s/%s", unit_dir, path);
	return p;
}

/* Runs a command of the shell. */
__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
	char cmd[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(cmd, sizeof(cmd), format, args);
	va_end(args);
	assert_int_equal(system(cmd), 0);
}

/* DIR/PATH holds text; the directories on the way are made. */
static inline void put_text(const char *dir, const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	f = fopen(full, "w");
	if (!f) {
		shell("mkdir -p $(dirname '%s')", full);
		f = fopen(full, "w");
	}
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define near(a, b) near_at(a, b, __LINE__)

static inline void near_at(double is, double should, int line)
{
	if (!(fabs(is - should) <= 1e-9 * fmax(fabs(should), 1)))
		fail_msg("line %d: is %.12g, should be %.12g", line, is, should);
}

/* Its result is the number of tests that failed. */
int main(int argc, char **argv)
{
	char cmd[64];
	int failed;

	if (argc > 1 && fixture.with_args)
		return fixture.with_args(argv + 1);
	for (size_t i = 0; i < n_unit_tests; i++) {
		if (unit_tests[i].setup_func || unit_tests[i].teardown_func)
			continue;
		unit_tests[i].setup_func = fixture.setup;
		unit_tests[i].teardown_func = fixture.teardown;
	}
	if (!mkdtemp(unit_dir))
		return 1;
	failed = _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, fixture.setup_all,
					 fixture.teardown_all);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", unit_dir);
	return system(cmd) ? 1 : failed;
}

#endif
