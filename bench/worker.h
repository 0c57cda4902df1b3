/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of processes that do one kind of operation over and over on one CPU and say how long one
 * took. They exist before anything is attached and stay where they were put, so that two runs
 * differ in nothing but what is attached.
 */
#ifndef JP_BENCH_WORKER_H
#define JP_BENCH_WORKER_H

#include <stdint.h>
#include <sys/types.h>

#define WORKER_PATH 512

struct worker_request {
	char workload[16];
	char path[WORKER_PATH]; /* file or directory, for workloads that need one */
	unsigned ms;		/* how long */
};

/*
 * ns per operation. A run is cut into batches of about a millisecond and these are their quartiles:
 * batches in which something else ran on the CPU are those above.
 */
struct worker_result {
	double q1, median, q3;
	uint64_t ops; /* 0: it failed */
	char error[128];
};

struct pair {
	pid_t lead, echo;
	int request, result; /* pipes to and from lead */
};

/* Two processes on cpu. 0 or -errno. */
int pair__start(struct pair *p, int cpu);
/* Waits for the result. 0, or -EIO: the pair has died. */
int pair__run(struct pair *p, const struct worker_request *req, struct worker_result *res);
void pair__end(struct pair *p);

#endif
