// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/why.h"

static void lines_of_squeue(void **state)
{
	assert_string_equal(why__meaning("COMPLETING TimeLimit\n"), "time limit");
	assert_string_equal(why__meaning("TIMEOUT TimeLimit\n"), "time limit");
	assert_string_equal(why__meaning("CANCELLED None\n"), "cancelled");
	assert_string_equal(why__meaning("PREEMPTED None"), "preempted");
	assert_string_equal(why__meaning("NODE_FAIL NodeDown"), "node failed");
	assert_string_equal(why__meaning("DEADLINE DeadLine"), "deadline");
	assert_null(why__meaning("COMPLETING None\n"));
	assert_null(why__meaning("RUNNING None\n"));
	assert_null(why__meaning("CANCELLEDX None\n"));
	assert_null(why__meaning(""));
	assert_null(why__meaning("\n"));
}

/* Of a process that is no slurmstepd nothing is believed. */
static void other_processes(void **state)
{
	struct why_site site;

	why__find_site(&site, 1);
	assert_string_equal(site.squeue, "");
	why__find_site(&site, 0x7ffffff0);
	assert_string_equal(site.squeue, "");
}

/* Without a way to ask there is no waiting. */
static void nobody_to_ask(void **state)
{
	struct why_site site = {.squeue = ""};
	struct why w;

	why__begin(&w, 1000);
	assert_true(why__advance(&w, &site, 1, 1000));
	assert_string_equal(w.answer, "");
	assert_false(why__reaped(&w, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_squeue),
		cmocka_unit_test(other_processes),
		cmocka_unit_test(nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
