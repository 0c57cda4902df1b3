/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/beside.h"

#include <sched.h>
#include <unistd.h>

/* The scheduler often leaves a new process where it was forked, though another CPU is idle: there
 * it gets nothing until the next tick, which is as long as a small merge. */
static void move_away(pid_t pid)
{
	const int cpu = sched_getcpu();
	cpu_set_t all, others;

	if (cpu < 0 || sched_getaffinity(0, sizeof(all), &all))
		return;
	others = all;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) && !sched_setaffinity(pid, sizeof(others), &others))
		sched_setaffinity(pid, sizeof(all), &all);
}

pid_t beside__fork(void)
{
	const pid_t pid = fork();

	if (pid > 0)
		move_away(pid);
	return pid;
}
