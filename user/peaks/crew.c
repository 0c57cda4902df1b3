// SPDX-License-Identifier: GPL-2.0-only
/* Threads for one pass of a measure: they wait until all are there, and then begin. */
#include "peaks/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define CPUS_MAX   65536
#define STACK_SIZE (256 << 10)

enum order { WAIT, WORK, LEAVE };

struct crew {
	void (*work)(void *ctx, unsigned i);
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum order order;
};

struct member {
	struct crew *crew;
	unsigned i;
	pthread_t thread;
	uint64_t begin_ns, end_ns, cpu_ns;
};

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void *run_member(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	enum order order;
	uint64_t cpu;

	pthread_mutex_lock(&c->lock);
	while (c->order == WAIT)
		pthread_cond_wait(&c->changed, &c->lock);
	order = c->order;
	pthread_mutex_unlock(&c->lock);
	if (order == LEAVE)
		return NULL;
	cpu = thread_ns();
	m->begin_ns = clock__mono_ns();
	c->work(c->ctx, m->i);
	m->end_ns = clock__mono_ns();
	m->cpu_ns = thread_ns() - cpu;
	return NULL;
}

static int start_member(struct member *m, int cpu, cpu_set_t *set)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (cpu >= 0) {
		CPU_ZERO_S(size, set);
		CPU_SET_S((unsigned)cpu, size, set);
		err = pthread_attr_setaffinity_np(&attr, size, set);
	}
	if (!err)
		err = pthread_create(&m->thread, &attr, run_member, m);
	pthread_attr_destroy(&attr);
	return -err;
}

static void sum_up(const struct member *m, unsigned n, struct crew_time *t)
{
	uint64_t begin = UINT64_MAX, end = 0, cpu = 0;

	for (unsigned i = 0; i < n; i++) {
		begin = m[i].begin_ns < begin ? m[i].begin_ns : begin;
		end = m[i].end_ns > end ? m[i].end_ns : end;
		cpu += m[i].cpu_ns;
	}
	t->seconds = (double)(end - begin + 1) / NSEC_PER_SEC;
	t->cpu_share = (double)cpu / NSEC_PER_SEC / (t->seconds * n);
}

int crew__run(const int *cpus, unsigned n, void (*work)(void *ctx, unsigned i), void *ctx,
	      struct crew_time *t)
{
	struct crew c = {work, ctx, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, WAIT};
	struct member *m = calloc(n, sizeof(*m));
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	unsigned started = 0;
	int err = m && set && n ? 0 : -ENOMEM;

	while (!err && started < n) {
		m[started] = (struct member){.crew = &c, .i = started};
		err = start_member(&m[started], cpus ? cpus[started] : -1, set);
		started += !err;
	}
	pthread_mutex_lock(&c.lock);
	c.order = err ? LEAVE : WORK;
	pthread_cond_broadcast(&c.changed);
	pthread_mutex_unlock(&c.lock);
	for (unsigned i = 0; i < started; i++)
		pthread_join(m[i].thread, NULL);
	if (!err)
		sum_up(m, n, t);
	CPU_FREE(set);
	free(m);
	return err;
}
