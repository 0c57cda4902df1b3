/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that work beside their maker: where they run, and where they may. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/beside.h"

#define TRIES 50

struct child {
	cpu_set_t may;
	int cpu;
};

/* Forks one that says where it is when it is told to. */
static pid_t begin(int *tell, int *hear)
{
	int go[2], said[2];
	struct child c;
	pid_t pid;
	char b;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(said), 0);
	pid = beside__fork();
	assert_true(pid >= 0);
	if (!pid) {
		c.cpu = sched_getcpu();
		if (read(go[0], &b, 1) != 1 || sched_getaffinity(0, sizeof(c.may), &c.may) ||
		    write(said[1], &c, sizeof(c)) != sizeof(c))
			_exit(1);
		_exit(0);
	}
	close(go[0]);
	close(said[1]);
	*tell = go[1];
	*hear = said[0];
	return pid;
}

static struct child end(pid_t pid, int tell, int hear)
{
	struct child c;
	int status;

	assert_int_equal(write(tell, "", 1), 1);
	assert_int_equal(read(hear, &c, sizeof(c)), sizeof(c));
	close(tell);
	close(hear);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return c;
}

static void it_may_run_where_its_maker_may(void **state)
{
	cpu_set_t mine;
	int tell, hear;
	pid_t pid = begin(&tell, &hear);
	struct child c = end(pid, tell, hear);

	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	assert_true(CPU_EQUAL(&c.may, &mine));
}

static void with_one_cpu_it_runs_there(void **state)
{
	cpu_set_t mine, one;
	int tell, hear, cpu = sched_getcpu();
	struct child c;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	pid = begin(&tell, &hear);
	c = end(pid, tell, hear);
	assert_int_equal(sched_setaffinity(0, sizeof(mine), &mine), 0);
	assert_int_equal(c.cpu, cpu);
	assert_true(CPU_EQUAL(&c.may, &one));
}

/* The next CPU that this process may have. */
static int other_cpu(const cpu_set_t *may, int cpu)
{
	int other = cpu;

	do
		other = (other + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(other, may));
	return other;
}

static pid_t spin_on(int cpu)
{
	cpu_set_t one;
	pid_t pid = fork();

	if (pid)
		return pid;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof(one), &one);
	for (;;)
		;
}

/* Where it starts while its maker goes on; it may wait for its turn. */
static int start_of_one(volatile int *at)
{
	pid_t pid;
	int cpu;

	*at = -1;
	pid = beside__fork();
	if (!pid) {
		*at = sched_getcpu();
		_exit(0);
	}
	while (*at < 0)
		;
	cpu = *at;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return cpu;
}

/* Of two CPUs the other is busy too: left to the scheduler, most would wait for their maker's. */
static void it_starts_on_another_cpu(void **state)
{
	volatile int *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int cpu = sched_getcpu(), elsewhere = 0;
	cpu_set_t mine, two;
	pid_t spinner;

	assert_true(at != MAP_FAILED);
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	if (CPU_COUNT(&mine) < 2)
		skip();
	CPU_ZERO(&two);
	CPU_SET(cpu, &two);
	CPU_SET(other_cpu(&mine, cpu), &two);
	spinner = spin_on(other_cpu(&mine, cpu));
	assert_int_equal(sched_setaffinity(0, sizeof(two), &two), 0);
	for (unsigned i = 0; i < TRIES; i++) {
		cpu = sched_getcpu();
		elsewhere += start_of_one(at) != cpu;
	}
	kill(spinner, SIGKILL);
	waitpid(spinner, NULL, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(mine), &mine), 0);
	munmap((void *)at, sizeof(*at));
	print_message("%d of %d elsewhere\n", elsewhere, TRIES);
	assert_true(elsewhere > TRIES * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_may_run_where_its_maker_may),
		cmocka_unit_test(with_one_cpu_it_runs_there),
		cmocka_unit_test(it_starts_on_another_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
