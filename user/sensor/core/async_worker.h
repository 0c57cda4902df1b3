/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread behind a asynchronous source. Only async.c knows of it. */
#ifndef JP_SENSOR_CORE_ASYNC_WORKER_H
#define JP_SENSOR_CORE_ASYNC_WORKER_H

#include <pthread.h>

#include "sensor/core/sensor.h"

/* One thread and what it has opened. The last of struct async and thread frees it. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t change; /* stop or ended were set */
	unsigned refs;
	const struct sensor_ops *ops;
	struct sensor_roots roots; /* copies */
	uint64_t period_ns;
	uint64_t (*now)(void);
	bool stop, ended;
	uint64_t call_ns; /* when the call began that it is in; 0: it is in none */
	int err;	  /* of the last opening or reading; -EAGAIN: neither has ended yet */
	uint64_t seq;	  /* readings that were published */
	bool taken;	  /* the last of them was given to the reader */
	/* Set once, before the first reading is published. */
	struct sensor_channel *channels; /* [n] */
	unsigned n;
	struct sensor_value *values; /* [n] */
};

/* Starts a thread that opens the source and reads it every period. Copies roots. 0 or -errno. */
int worker__start(struct worker **out, const struct sensor_ops *ops,
		  const struct sensor_roots *roots, uint64_t period_ns, uint64_t (*now)(void));
/* Tells it to end and waits until it has, 1 s at most; not at all while it is in a call. */
void worker__stop(struct worker *w);
/* From now on; it need not end the wait that it is in. */
void worker__set_period(struct worker *w, uint64_t ns);
/* Gives up the reference that worker__start() gave. NULL is fine. */
void worker__put(struct worker *w);

/* A lock, and a condition that waits by CLOCK_MONOTONIC. */
void sensor_thread__sync(pthread_mutex_t *lock, pthread_cond_t *change);
/* Waits for a period, which whoever holds the lock may change meanwhile and signals, or for stop.
 */
void sensor_thread__rest(pthread_mutex_t *lock, pthread_cond_t *change, const uint64_t *period_ns,
			 const bool *stop);
/* A detached thread with all signals blocked: they are the caller's, whose loop waits for them. 0
 * or -errno. */
int sensor_thread__start(void *(*fn)(void *), void *arg);
int sensor_roots__copy(struct sensor_roots *to, const struct sensor_roots *from);
void sensor_roots__free(struct sensor_roots *r);

#endif
