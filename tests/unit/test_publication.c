// SPDX-License-Identifier: GPL-2.0-only
/* Writers that hang. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/publication.h"

#define YEAR_NS (31536000 * NSEC_PER_SEC)

/* One that is in a call that does not end stays for as long as its file system hangs. */
TEST(a_writer_is_killed_once)
{
	struct publication p = {.name = "1_0_n1.h5", .deadline_ns = 2, .pid = fork()};
	uint64_t errors = log__errors()->n;
	int status;

	if (!p.pid)
		for (;;)
			pause();
	publication__check(&p, 1);
	assert_int_equal(p.kills, 0);
	publication__check(&p, 2);
	publication__check(&p, YEAR_NS);
	assert_int_equal(p.kills, 1);
	assert_int_equal(log__errors()->n, errors + 1);
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
	return run_all_tests();
}
