// SPDX-License-Identifier: GPL-2.0-only
/* What squeue's line of a job says about the end of its step. */
#include <stdbool.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"
#include "daemon/child/end_reason.h"

/* "NULL" and false are what a job that is not told, or goes on, has. */
static const char *meaning(const char *text, uint32_t job_id)
{
	const char *m;

	if (!end_reason__meaning(text, job_id, &m))
		assert_null(m);
	return m;
}

static bool may_change(const char *text)
{
	const char *m;

	return end_reason__meaning(text, 7, &m) && !m;
}

TEST(lines_of_squeue)
{
	assert_string_equal(meaning("7 COMPLETING TimeLimit\n", 7), "time limit");
	assert_string_equal(meaning("7 TIMEOUT TimeLimit\n", 7), "time limit");
	assert_string_equal(meaning("7 CANCELLED None\n", 7), "cancelled");
	assert_string_equal(meaning("7 PREEMPTED None", 7), "preempted");
	assert_string_equal(meaning("7 NODE_FAIL NodeDown", 7), "node failed");
	assert_string_equal(meaning("7 NODE_FAIL Nodes are DOWN", 7), "node failed");
	assert_string_equal(meaning("7 DEADLINE DeadLine", 7), "deadline");
	assert_string_equal(meaning("7 CANCELLED", 7), "cancelled");
	assert_string_equal(meaning("7 REQUEUED None", 7), "requeued");
	assert_string_equal(meaning("7 PENDING BeginTime", 7), "requeued");
	assert_string_equal(meaning("7 REQUEUE_HOLD JobHeldUser", 7), "requeued");
	assert_true(may_change("7 COMPLETING None\n"));
	assert_false(may_change("7 RUNNING None\n"));
	assert_false(may_change("7 CANCELLEDX None\n"));
	assert_false(may_change(""));
	assert_false(may_change("\n"));
	assert_false(may_change("NO_SLURM\n"));
	assert_false(may_change("4294967303 COMPLETING None\n"));
}

/* As squeue of 22.05, 25.11 and 26.05 prints them: -j 7 is the array's id, and that of the element
 * which began last; elements that wait are one line with it. */
TEST(elements_and_components)
{
	static const char array[] = "11 COMPLETED None\n13 FAILED NonZeroExitCode\n"
				    "7 TIMEOUT TimeLimit\n12 CANCELLED None\n";
	static const char waits[] = "12 CANCELLED None\n11 RUNNING None\n7 PENDING Resources\n";
	static const char het[] = "3 COMPLETING None\n2 CANCELLED None\n";

	assert_string_equal(meaning(array, 7), "time limit");
	assert_string_equal(meaning(array, 12), "cancelled");
	assert_null(meaning(array, 11));
	assert_null(meaning(array, 1));
	assert_null(meaning(array, 14));
	assert_null(meaning(waits, 7));
	assert_string_equal(meaning(het, 2), "cancelled");
	assert_null(meaning(het, 3));
}

/* Of a process that is no slurmstepd nothing is believed. */
TEST(other_processes)
{
	struct slurmd site = {.squeue = "/x"};

	end_reason__find_squeue(&site, 1);
	assert_string_equal(site.squeue, "");
	end_reason__find_squeue(&site, 0x7ffffff0);
	assert_string_equal(site.squeue, "");
}

/* Where no Slurm is found, as where its squeue is not there, hope ends with the first answer. */
TEST(nobody_to_ask)
{
	static const struct slurmd none = {.squeue = "/nowhere/squeue", .conf = "/nowhere/conf"};
	struct end_reason w;

	end_reason__begin(&w, &none, "n1", 1, 1000);
	assert_false(end_reason__advance(&w, 1000));
	assert_true(w.squeue.pid > 0);
	assert_int_equal(waitpid(w.squeue.pid, NULL, 0), w.squeue.pid);
	assert_false(end_reason__reaped(&w, w.squeue.pid + 1));
	assert_true(end_reason__reaped(&w, w.squeue.pid));
	assert_true(end_reason__advance(&w, 1001));
	assert_string_equal(w.answer, "");
	assert_false(end_reason__reaped(&w, 1));
}

int main(void)
{
	return run_all_tests();
}
