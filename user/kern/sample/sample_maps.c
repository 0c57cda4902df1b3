// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that read memory maps. One works at a time. A thread whose map does not come is abandoned
 * for a new one, and ends by itself when the process unlocks its map, or ends.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "identity/proc_modules.h"
#include "kern/sample/sample.h"

#define WAIT_NS	 200000000
#define HUNG_MAX 16

struct maps_reader {
	pthread_mutex_t lock;
	pthread_cond_t asked, answered;
	pid_t pid; /* to be read; 0: nothing */
	int err;
	bool given_up; /* the thread frees all */
	bool hangs;    /* counted in hung */
	struct proc_modules modules;
};

static unsigned hung; /* threads that are given up; atomic */

static void reader_free(struct maps_reader *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->asked);
	pthread_cond_destroy(&r->answered);
	free(r);
}

static void *read_maps(void *arg)
{
	struct maps_reader *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->given_up) {
		pid_t pid = r->pid;

		if (!pid) {
			pthread_cond_wait(&r->asked, &r->lock);
			continue;
		}
		pthread_mutex_unlock(&r->lock);
		r->err = proc_modules__read(pid, &r->modules);
		pthread_mutex_lock(&r->lock);
		r->pid = 0;
		pthread_cond_signal(&r->answered);
	}
	pthread_mutex_unlock(&r->lock);
	if (r->hangs)
		__atomic_fetch_sub(&hung, 1, __ATOMIC_RELAXED);
	reader_free(r);
	return NULL;
}

static struct maps_reader *reader_new(void)
{
	struct maps_reader *r = calloc(1, sizeof(*r));
	pthread_attr_t detached;
	pthread_condattr_t mono;
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&r->asked, &mono);
	pthread_cond_init(&r->answered, &mono);
	pthread_condattr_destroy(&mono);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &detached, read_maps, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	if (err) {
		reader_free(r);
		return NULL;
	}
	return r;
}

void maps_reader__stop(struct maps_reader *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->given_up = true;
	pthread_cond_signal(&r->asked);
	pthread_mutex_unlock(&r->lock);
}

static int wait_for(struct maps_reader *r)
{
	uint64_t until = clock__mono_ns() + WAIT_NS;
	const struct timespec t = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
				   .tv_nsec = (long)(until % NSEC_PER_SEC)};
	int err = 0;

	while (r->pid && !err)
		err = pthread_cond_timedwait(&r->answered, &r->lock, &t);
	return r->pid ? -ETIMEDOUT : r->err;
}

bool maps_reader__hangs(void)
{
	return __atomic_load_n(&hung, __ATOMIC_RELAXED) > 0;
}

int maps_reader__read(struct maps_reader **r, pid_t pid, struct proc_modules *m)
{
	int err;

	if (__atomic_load_n(&hung, __ATOMIC_RELAXED) >= HUNG_MAX)
		return -EAGAIN;
	if (!*r)
		*r = reader_new();
	if (!*r)
		return -ENOMEM;
	pthread_mutex_lock(&(*r)->lock);
	(*r)->pid = pid;
	pthread_cond_signal(&(*r)->asked);
	err = wait_for(*r);
	if (!err)
		*m = (*r)->modules;
	if ((*r)->pid) {
		(*r)->given_up = (*r)->hangs = true;
		__atomic_fetch_add(&hung, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&(*r)->lock);
	if (err == -ETIMEDOUT)
		*r = NULL;
	return err;
}
