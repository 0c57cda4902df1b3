/* SPDX-License-Identifier: GPL-2.0-only */
/* What is started anew, and how it finds itself. This program is what is started: with an argument
 * it does what that says, and ends with what it finds as a second start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/anew.h"
#include "pool/pool.h"

#define OTHER 100 /* more than any signal */

static const struct pool_limits limits = {UINT64_C(256) << 20, 1};
static const char *role;

static int overflow(unsigned pages)
{
	volatile char here[4096];

	here[0] = pages ? (char)overflow(pages - 1) : 0;
	return here[0];
}

static void spin(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

/* A child that holds on to a pipe's end, and ignores that it is broken. */
static void have_child(int fd)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	anew__child(pid);
	close(fd);
}

/* It ends by itself, as a child would without its parent's handlers. */
static int child_crashes(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		abort();
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return OTHER + 1;
	return WTERMSIG(status);
}

static int work(void *arg)
{
	int n = atoi(role);

	if (!strcmp(role, "overflow"))
		return overflow(UINT32_MAX);
	if (!strcmp(role, "spin"))
		spin();
	if (!strcmp(role, "child crashes"))
		return child_crashes();
	if (!strcmp(role, "return"))
		return OTHER + 2;
	if (!strcmp(role, "child stays")) {
		have_child(STDOUT_FILENO);
		n = SIGSEGV;
	}
	raise(n);
	return OTHER + 3; /* it was ignored */
}

/* What there was before the try: no limits, no timer, nothing blocked, no mark for others. */
static bool is_as_before(void)
{
	struct itimerval t;
	struct rlimit as;
	sigset_t mask;

	getitimer(ITIMER_PROF, &t);
	getrlimit(RLIMIT_AS, &as);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	return as.rlim_cur > limits.memory && !t.it_value.tv_sec && !t.it_value.tv_usec &&
	       sigisemptyset(&mask) && !getenv("JOBPROF_LEFT_BY");
}

static int play(char **argv)
{
	int result;

	anew__init(argv);
	role = argv[1];
	if (anew__left_by() >= 0)
		return is_as_before() && !strcmp(argv[0], "again") ? anew__left_by() : OTHER;
	if (!strcmp(role, "care")) {
		anew__run(work, NULL, &limits);
		anew__start(0);
		return OTHER + 4;
	}
	if (!strcmp(role, "ignored")) {
		signal(SIGHUP, SIG_IGN);
		role = "1";
	}
	result = anew__run(work, NULL, &limits);
	return is_as_before() ? result : OTHER;
}

/* Its exit status. *out is the read end of its standard output, or NULL. */
static int start(const char *what, int *out)
{
	char *argv[] = {"again", (char *)what, NULL};
	int status, fd[2];
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		const struct rlimit no_core = {0, RLIM_INFINITY};

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execv("/proc/self/exe", argv);
		_exit(OTHER);
	}
	close(fd[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (out)
		*out = fd[0];
	else
		close(fd[0]);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void signals_start_it_anew(void **state)
{
	static const char *const what[] = {"1",	 "2",  "3",  "4",  "5",	 "6",  "7",
					   "8",	 "10", "11", "12", "13", "14", "15",
					   "24", "25", "26", "27", "29", "30", "31"};

	for (unsigned i = 0; i < sizeof(what) / sizeof(*what); i++)
		assert_int_equal(start(what[i], NULL), atoi(what[i]));
}

static void so_do_its_own_faults(void **state)
{
	assert_int_equal(start("overflow", NULL), SIGSEGV);
	assert_int_equal(start("spin", NULL), SIGPROF);
}

static void so_does_the_wish(void **state)
{
	assert_int_equal(start("care", NULL), 0);
}

static void nothing_else_does(void **state)
{
	assert_int_equal(start("return", NULL), OTHER + 2);
	assert_int_equal(start("ignored", NULL), OTHER + 3);
	assert_int_equal(start("child crashes", NULL), SIGABRT);
}

/* The pipe ends with the last that has it. */
static void children_end_with_it(void **state)
{
	int out;
	char c;

	alarm(20);
	assert_int_equal(start("child stays", &out), SIGSEGV);
	assert_int_equal(read(out, &c, 1), 0);
	close(out);
	alarm(0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_start_it_anew), cmocka_unit_test(so_do_its_own_faults),
		cmocka_unit_test(so_does_the_wish),	 cmocka_unit_test(nothing_else_does),
		cmocka_unit_test(children_end_with_it),
	};

	if (argc > 1)
		return play(argv);
	return cmocka_run_group_tests_name("anew", tests, NULL, NULL);
}
