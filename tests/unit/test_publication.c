// SPDX-License-Identifier: GPL-2.0-only
/* A writer that hangs: that it is killed, and how often the log says so. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/publication.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

static pid_t hanging(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (!pid)
		pause();
	return pid;
}

TEST(writers_that_hang_are_killed_and_named_once_an_hour)
{
	struct publication a = {.name = "1_0_n1.h5", .deadline_ns = 5};
	struct publication b = {.name = "2_0_n1.h5", .deadline_ns = 5};
	uint64_t before = log__errors()->n;
	int status;

	a.pid = hanging();
	b.pid = hanging();
	publication__check(&a, 4);
	assert_int_equal(a.kills, 0);
	publication__check(&a, 5);
	publication__check(&a, a.deadline_ns); /* it could not even be killed so far */
	publication__check(&b, 5);
	assert_int_equal(a.kills, 2);
	assert_int_equal(b.kills, 1);
	assert_int_equal(log__errors()->n, before + 1);
	publication__check(&a, a.deadline_ns + HOUR_NS);
	assert_int_equal(log__errors()->n, before + 2);
	assert_int_equal(waitpid(a.pid, &status, 0), a.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(b.pid, NULL, 0), b.pid);
}

int main(void)
{
	return run_all_tests();
}
