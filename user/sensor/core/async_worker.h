/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread behind an asynchronous source, for async.c only. */
#ifndef JP_SENSOR_CORE_ASYNC_WORKER_H
#define JP_SENSOR_CORE_ASYNC_WORKER_H

#include <pthread.h>

#include "sensor/core/sensor.h"

/* One thread and the source that it has opened. The struct is freed by struct async or by the
 * thread, whichever ends last. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t change; /* stop or ended were set */
	unsigned refs;
	const struct sensor_ops *ops;
	struct sensor_roots roots; /* copies */
	uint64_t period_ns;
	uint64_t (*now)(void);
	bool stop, ended;
	uint64_t call_ns; /* when the call of the source began; 0: no call is under way */
	int err;	  /* of the last open or read; -EAGAIN: neither has ended yet */
	uint64_t seq;	  /* readings that were published */
	bool taken;	  /* the reader has taken the last reading */
	/* Set once, before the first reading is published. */
	struct sensor_channel *channels; /* [n] */
	unsigned n;
	struct sensor_value *values; /* [n] */
};

/* Starts a thread that opens the source and reads it every period. Copies roots. 0 or -errno. */
int worker__start(struct worker **out, const struct sensor_ops *ops,
		  const struct sensor_roots *roots, uint64_t period_ns, uint64_t (*now)(void));
/* Asks the thread to end and waits for that, 1 s at most; not at all during a call of the source.
 */
void worker__stop(struct worker *w);
/* Sets the time between two readings, also for the wait that is under way. */
void worker__set_period(struct worker *w, uint64_t ns);
/* Drops the reference of worker__start(). NULL is fine. */
void worker__put(struct worker *w);

/* A lock, and a condition that waits by CLOCK_MONOTONIC. */
void sensor_thread__sync(pthread_mutex_t *lock, pthread_cond_t *change);
/* Waits for a period or for stop. Whoever has the lock may change both meanwhile, and then signals
 * `change`.
 */
void sensor_thread__rest(pthread_mutex_t *lock, pthread_cond_t *change, const uint64_t *period_ns,
			 const bool *stop);
/* Starts a detached thread with all signals blocked: the caller's loop waits for signals. 0 or
 * -errno. */
int sensor_thread__start(void *(*fn)(void *), void *arg);
/* Copies of all strings. 0 or -ENOMEM; sensor_roots__free() in both cases. */
int sensor_roots__copy(struct sensor_roots *to, const struct sensor_roots *from);
void sensor_roots__free(struct sensor_roots *r);

#endif
