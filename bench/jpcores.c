/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether two processors are two cores: prints how long two processes take that compute side by
 * side, each on a processor of its own, over one of them alone: 1, or up to 2 where the two
 * processors are threads of one core. A virtual machine's may be either, and change over time.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 15
#define STEPS 1000000u /* a millisecond or two */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Steps that do not wait for each other: they fill a core. */
static double compute(void)
{
	const double began = now();
	uint64_t a = 1, b = 2, c = 3, d = 4;

	for (unsigned i = 0; i < STEPS; i++) {
		a += i;
		b ^= i;
		c += a >> 3;
		d ^= b + c;
		__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
	}
	return now() - began;
}

static int move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* The first two processors this process may have, whoever started it has. */
static int two_cpus(int cpu[2])
{
	cpu_set_t set;
	int n = 0;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n == 2 ? 0 : -1;
}

static double beside_another(int cpu)
{
	pid_t pid = fork();
	double took;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		move_to(cpu);
		for (;;)
			compute();
	}
	usleep(500); /* until it computes */
	took = compute();
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return pid < 0 ? 0 : took;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	double ratios[PAIRS];
	int cpu[2];

	if (two_cpus(cpu) || move_to(cpu[0])) {
		fprintf(stderr, "jpcores: there is one processor only\n");
		return 1;
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		usleep(500);
		ratios[i] = compute();
		ratios[i] = beside_another(cpu[1]) / ratios[i];
	}
	qsort(ratios, PAIRS, sizeof(*ratios), by_size);
	printf("%.3f\n", ratios[PAIRS / 2]);
	return 0;
}
