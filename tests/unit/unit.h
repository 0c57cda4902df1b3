/* SPDX-License-Identifier: GPL-2.0-only */
/* What every unit test includes before all else of the project: cmocka, TEST() and run_all_tests().
 */
#ifndef JP_TESTS_UNIT_H
#define JP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

/* setup and teardown run around each test without its own, the others around all tests. */
struct unit_fixture {
	CMFixtureFunction setup, teardown, setup_all, teardown_all;
};

/* Returns the exit status: the number of tests that failed. */
static inline int run_unit_tests(struct unit_fixture f)
{
	for (size_t i = 0; i < n_unit_tests; i++) {
		if (unit_tests[i].setup_func || unit_tests[i].teardown_func)
			continue;
		unit_tests[i].setup_func = f.setup;
		unit_tests[i].teardown_func = f.teardown;
	}
	return _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, f.setup_all,
				       f.teardown_all);
}

/* run_all_tests(.setup = make, .teardown_all = remove_dir) */
#define run_all_tests(...) run_unit_tests((struct unit_fixture){__VA_ARGS__})

#endif
