/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measures have in common: their passes, how busy the node is, and threads for a pass. */
#include "peaks/measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* ---- the passes of a measure: whether another one may begin, and what they come to */

bool measure__goes_on(const struct measure *m, const struct measure_opts *o, uint64_t began)
{
	if (m->error[0] || m->npasses >= o->passes || m->npasses >= PASSES_MAX)
		return false;
	return !m->npasses || (double)(clock__mono_ns() - began) / NSEC_PER_SEC < o->seconds;
}

void measure__fail(struct measure *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, ap);
	va_end(ap);
	m->npasses = 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct peak measure__peak(const struct measure *m)
{
	double sorted[PASSES_MAX];
	unsigned n = m->npasses;

	if (!n)
		return (struct peak){NAN, NAN, NAN};
	memcpy(sorted, m->pass, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare);
	return (struct peak){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]};
}

double measure__spread(const struct measure *m)
{
	struct peak p = measure__peak(m);

	return m->npasses < 2 ? NAN : (p.max - p.min) / p.value;
}

/* ---- how busy the node is, and how much of it the hypervisor gives to others */

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

void node_ticks__read(struct node_ticks *t)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[COLUMNS] = {0};

	*t = (struct node_ticks){0};
	if (!f ||
	    fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[USER], &v[NICE], &v[SYSTEM],
		   &v[IDLE], &v[IOWAIT], &v[IRQ], &v[SOFTIRQ], &v[STEAL]) != COLUMNS)
		return;
	for (unsigned i = 0; i < COLUMNS; i++)
		t->all += v[i];
	t->steal = v[STEAL];
	t->busy = t->all - v[IDLE] - v[IOWAIT] - v[STEAL];
}

static double part(uint64_t from, uint64_t to, uint64_t all_from, uint64_t all_to)
{
	return all_to > all_from && to >= from ? (double)(to - from) / (double)(all_to - all_from)
					       : NAN;
}

double node_ticks__busy(const struct node_ticks *from, const struct node_ticks *to)
{
	return part(from->busy, to->busy, from->all, to->all);
}

double node_ticks__steal(const struct node_ticks *from, const struct node_ticks *to)
{
	return part(from->steal, to->steal, from->all, to->all);
}

/* ---- threads for one pass of a measure: they wait until all are there, and then begin */

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
