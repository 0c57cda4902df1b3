// SPDX-License-Identifier: GPL-2.0-or-later
/* What squeue's line of a job says about the end of its step. */

#include "tests/unit/unit.h"
#include "daemon/child/end_reason.h"

/* "NULL" and false are what a job that is not told, or goes on, has. */
static const char *meaning(const char *text, uint32_t job_id)
{
	const char *m;

	if (!end_reason__meaning(text, job_id, 1, &m))
		assert_null(m);
	return m;
}

static bool may_change(const char *text)
{
	const char *m;

	return end_reason__meaning(text, 7, 1, &m) && !m;
}

TEST(lines_of_squeue)
{
	assert_string_equal(meaning("7 COMPLETING 1 TimeLimit\n", 7), "time limit");
	assert_string_equal(meaning("7 TIMEOUT 1 TimeLimit\n", 7), "time limit");
	assert_string_equal(meaning("7 CANCELLED 1 None\n", 7), "cancelled");
	assert_string_equal(meaning("7 PREEMPTED 1 None", 7), "preempted");
	assert_string_equal(meaning("7 NODE_FAIL 1 NodeDown", 7), "node failed");
	assert_string_equal(meaning("7 NODE_FAIL 1 Nodes are DOWN", 7), "node failed");
	assert_string_equal(meaning("7 DEADLINE 1 DeadLine", 7), "deadline");
	assert_string_equal(meaning("7 CANCELLED", 7), "cancelled");
	assert_string_equal(meaning("7 REQUEUED 1 None", 7), "requeued");
	assert_string_equal(meaning("7 PENDING 1 BeginTime", 7), "requeued");
	assert_string_equal(meaning("7 REQUEUE_HOLD 1 JobHeldUser", 7), "requeued");
	assert_true(may_change("7 COMPLETING 1 None\n"));
	assert_false(may_change("7 RUNNING 1 None\n"));
	assert_false(may_change("7 CANCELLEDX 1 None\n"));
	assert_false(may_change(""));
	assert_false(may_change("\n"));
	assert_false(may_change("NO_SLURM\n"));
	assert_false(may_change("4294967303 COMPLETING 1 None\n"));
}

/* Its state says nothing of the run that has ended when the next one has begun. */
TEST(a_job_that_runs_again)
{
	const char *m;

	assert_true(end_reason__meaning("7  RUNNING  1  None", 7, 0, &m));
	assert_string_equal(m, "requeued");
	assert_false(end_reason__meaning("7  RUNNING  1  None", 7, UINT32_MAX, &m));
	assert_null(m);
	assert_true(end_reason__meaning("7  CANCELLED  1  None", 7, 0, &m));
	assert_string_equal(m, "cancelled");
}

/* As squeue of 22.05, 25.11 and 26.05 prints them: -j 7 is the array's id, and that of the element
 * which began last; elements that wait are one line with it. */
TEST(elements_and_components)
{
	static const char array[] = "11 COMPLETED 1 None\n13 FAILED 1 NonZeroExitCode\n"
				    "7 TIMEOUT 1 TimeLimit\n12 CANCELLED 1 None\n";
	static const char waits[] =
		"12 CANCELLED 1 None\n11 RUNNING 1 None\n7 PENDING 1 Resources\n";
	static const char het[] = "3 COMPLETING 1 None\n2 CANCELLED 1 None\n";

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

	end_reason__begin(&w, &none, "n1", 1, UINT32_MAX, 1000);
	assert_false(end_reason__advance(&w, 1000));
	assert_true(w.squeue.pid > 0);
	assert_int_equal(waitpid(w.squeue.pid, NULL, 0), w.squeue.pid);
	assert_false(end_reason__reaped(&w, w.squeue.pid + 1));
	assert_true(end_reason__reaped(&w, w.squeue.pid));
	assert_true(end_reason__advance(&w, 1001));
	assert_string_equal(w.answer, "");
	assert_false(end_reason__reaped(&w, 1));
}
