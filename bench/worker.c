// SPDX-License-Identifier: GPL-2.0-or-later
/* The pairs of processes: how they are started, pinned, measured and ended. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/worker.h"
#include "bench/workload.h"

#define MAX_BATCHES 4096

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run_batch(const struct workload *w, struct workload_state *s)
{
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < w->batch; i++)
		err = w->op(s);
	return err;
}

/* The first batch warms up and is not counted. */
static int run_batches(const struct workload *w, struct workload_state *s, unsigned ms,
		       struct worker_result *res)
{
	static double ns[MAX_BATCHES];
	unsigned n = 0, max = w->max_batches ? w->max_batches : MAX_BATCHES;
	uint64_t end = now_ns() + ms * 1000000ull, from, to;
	int err = run_batch(w, s);

	from = now_ns();
	while (!err && n < max && (from < end || n < 3)) {
		err = run_batch(w, s);
		to = now_ns();
		ns[n++] = (double)(to - from) / (w->batch * w->per_op);
		from = to;
	}
	if (err)
		return err;
	qsort(ns, n, sizeof(ns[0]), by_value);
	res->q1 = ns[n / 4];
	res->median = ns[n / 2];
	res->q3 = ns[n * 3 / 4];
	res->ops = (uint64_t)n * w->batch * w->per_op;
	return 0;
}

static void serve(const struct worker_request *req, struct workload_state *s,
		  struct worker_result *res)
{
	const struct workload *w = workload__find(req->workload);
	int err = w ? 0 : -ENOENT;

	memset(res, 0, sizeof(*res));
	s->path = req->path;
	if (!err && w->open)
		err = w->open(s);
	if (!err)
		err = run_batches(w, s, req->ms, res);
	workload__close(s);
	if (err) {
		res->ops = 0;
		snprintf(res->error, sizeof(res->error), "%s: %s", req->workload, strerror(-err));
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void __attribute__((noreturn)) echo(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1 && write(out, &c, 1) == 1)
		;
	_exit(0);
}

static void __attribute__((noreturn)) lead(int request, int result, struct workload_state *s)
{
	struct worker_request req;
	struct worker_result res;

	while (read(request, &req, sizeof(req)) == sizeof(req)) {
		serve(&req, s, &res);
		if (write(result, &res, sizeof(res)) != sizeof(res))
			break;
	}
	_exit(0);
}

/* A child on cpu that holds just two descriptors and ends with its parent. */
static pid_t spawn(int cpu, int keep1, int keep2, int keep3, int keep4)
{
	pid_t pid = fork();
	int fd, max = 64;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (fd = 3; fd < max; fd++)
		if (fd != keep1 && fd != keep2 && fd != keep3 && fd != keep4)
			close(fd);
	pin(cpu);
	return 0;
}

int pair__start(struct pair *p, int cpu)
{
	struct workload_state s = {.fd = {-1, -1}, .seed = 1};
	int request[2], result[2], ping[2], pong[2];

	if (pipe(request) || pipe(result) || pipe(ping) || pipe(pong))
		return -errno;
	p->echo = spawn(cpu, ping[0], pong[1], -1, -1);
	if (!p->echo)
		echo(ping[0], pong[1]);
	s.to_echo = ping[1];
	s.from_echo = pong[0];
	p->lead = spawn(cpu, request[0], result[1], ping[1], pong[0]);
	if (!p->lead)
		lead(request[0], result[1], &s);
	close(request[0]);
	close(result[1]);
	close(ping[0]);
	close(ping[1]);
	close(pong[0]);
	close(pong[1]);
	p->request = request[1];
	p->result = result[0];
	fcntl(p->request, F_SETFD, FD_CLOEXEC);
	fcntl(p->result, F_SETFD, FD_CLOEXEC);
	return p->lead < 0 || p->echo < 0 ? -EAGAIN : 0;
}

int pair__run(struct pair *p, const struct worker_request *req, struct worker_result *res)
{
	if (write(p->request, req, sizeof(*req)) != sizeof(*req) ||
	    read(p->result, res, sizeof(*res)) != sizeof(*res))
		return -EIO;
	return 0;
}

void pair__end(struct pair *p)
{
	if (p->request > 0)
		close(p->request);
	if (p->result > 0)
		close(p->result);
	if (p->lead > 0)
		waitpid(p->lead, NULL, 0);
	if (p->echo > 0)
		waitpid(p->echo, NULL, 0);
}
