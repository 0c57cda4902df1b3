// SPDX-License-Identifier: GPL-2.0-or-later
/* Writers that hang. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/publication.h"

#define YEAR_NS (31536000 * NSEC_PER_SEC)

static pid_t hanging(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (!pid)
		pause();
	return pid;
}

/* One that is in a call that does not end stays for as long as its file system hangs. */
TEST(writers_that_hang_are_killed_once_and_named_once_an_hour)
{
	struct publication a = {.name = "1_0_n1.h5", .deadline_ns = 2};
	struct publication b = {.name = "2_0_n1.h5", .deadline_ns = 2};
	uint64_t errors = log__errors()->n;
	int status;

	a.pid = hanging();
	b.pid = hanging();
	publication__check(&a, 1);
	assert_int_equal(a.kills, 0);
	publication__check(&a, 2);
	publication__check(&b, 2);
	assert_int_equal(log__errors()->n, errors + 1);
	publication__check(&a, YEAR_NS);
	assert_int_equal(a.kills, 1);
	assert_int_equal(b.kills, 1);
	assert_int_equal(waitpid(a.pid, &status, 0), a.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(b.pid, NULL, 0), b.pid);
}
