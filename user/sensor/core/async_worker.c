// SPDX-License-Identifier: GPL-2.0-or-later
/* A source on a thread of its own: the thread. */
#include "sensor/core/async_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define STOP_WAIT_S 1

void sensor_roots__free(struct sensor_roots *r)
{
	free((char *)r->sys);
	free((char *)r->proc);
	free((char *)r->dev);
	free((char *)r->lib);
}

int sensor_roots__copy(struct sensor_roots *to, const struct sensor_roots *from)
{
	to->sys = strdup(from->sys);
	to->proc = strdup(from->proc);
	to->dev = strdup(from->dev);
	to->lib = from->lib ? strdup(from->lib) : NULL;
	return to->sys && to->proc && to->dev && (to->lib || !from->lib) ? 0 : -ENOMEM;
}

void worker__put(struct worker *w)
{
	bool last;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	last = !--w->refs;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->change);
	sensor_roots__free(&w->roots);
	free(w->channels);
	free(w->values);
	free(w);
}

/* Called before a call of the source: unlocks the lock. False: the thread must end. */
static bool enter(struct worker *w)
{
	if (w->stop)
		return false;
	w->call_ns = w->now();
	pthread_mutex_unlock(&w->lock);
	return true;
}

static void leave(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->call_ns = 0;
}

static int keep_channels(struct worker *w, struct sensor *s)
{
	const struct sensor_channel *ch;
	unsigned n = w->ops->channels(s, &ch);

	w->channels = calloc(n + 1, sizeof(*w->channels));
	w->values = calloc(n + 1, sizeof(*w->values));
	if (!w->channels || !w->values)
		return -ENOMEM;
	if (n)
		memcpy(w->channels, ch, n * sizeof(*ch));
	w->n = n;
	return 0;
}

static struct timespec after(struct timespec t, uint64_t ns)
{
	uint64_t sum = (uint64_t)t.tv_nsec + ns % NSEC_PER_SEC;

	t.tv_sec += (time_t)(ns / NSEC_PER_SEC + sum / NSEC_PER_SEC);
	t.tv_nsec = (long)(sum % NSEC_PER_SEC);
	return t;
}

void sensor_thread__rest(pthread_mutex_t *lock, pthread_cond_t *change, const uint64_t *period_ns,
			 const bool *stop)
{
	struct timespec begin, until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (!*stop && !err) {
		until = after(begin, *period_ns); /* another thread may have changed the period */
		err = pthread_cond_timedwait(change, lock, &until);
	}
}

void worker__set_period(struct worker *w, uint64_t ns)
{
	pthread_mutex_lock(&w->lock);
	w->period_ns = ns;
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
}

/* A gap that the reader has not taken yet is a gap of the next reading, too. */
static void keep_quality(const struct worker *w, struct sensor_value *values)
{
	for (unsigned i = 0; i < w->n && w->seq && !w->taken; i++) {
		enum sensor_quality was = w->values[i].quality, *is = &values[i].quality;

		if ((*is == READING_GOOD && was == READING_GAP) ||
		    (*is == READING_REPEATED && was <= READING_GAP))
			*is = was;
	}
}

/* Makes a reading and publishes it. Called with the lock locked. False: the worker must end. */
static bool read_once(struct worker *w, struct sensor *s, struct sensor_value *values)
{
	int err;

	for (unsigned i = 0; i < w->n; i++)
		values[i] = sensor__no_value(READING_NONE);
	if (!enter(w))
		return false;
	err = w->ops->read(s, values);
	leave(w);
	w->err = err;
	keep_quality(w, values);
	if (w->n)
		memcpy(w->values, values, w->n * sizeof(*values));
	w->seq++;
	w->taken = false;
	return true;
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	struct sensor_value *values = NULL;
	struct sensor *s = NULL;
	int err = -EAGAIN;

	pthread_mutex_lock(&w->lock);
	if (enter(w)) {
		err = sensor__open(w->ops, &s, &w->roots);
		leave(w);
	}
	if (!err)
		err = keep_channels(w, s);
	if (!err)
		values = calloc(w->n + 1, sizeof(*values));
	w->err = err ? err : values ? -EAGAIN : -ENOMEM;
	while (values && read_once(w, s, values))
		sensor_thread__rest(&w->lock, &w->change, &w->period_ns, &w->stop);
	pthread_mutex_unlock(&w->lock);
	sensor__close(w->ops, s);
	free(values);
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
	worker__put(w);
	return NULL;
}

void sensor_thread__sync(pthread_mutex_t *lock, pthread_cond_t *change)
{
	pthread_condattr_t attr;

	pthread_mutex_init(lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(change, &attr);
	pthread_condattr_destroy(&attr);
}

int sensor_thread__start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

int worker__start(struct worker **out, const struct sensor_ops *ops,
		  const struct sensor_roots *roots, uint64_t period_ns, uint64_t (*now)(void))
{
	struct worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	sensor_thread__sync(&w->lock, &w->change);
	w->refs = 2; /* one of the caller, one of the thread */
	w->ops = ops;
	w->period_ns = period_ns;
	w->now = now;
	w->err = -EAGAIN;
	err = sensor_roots__copy(&w->roots, roots);
	if (!err)
		err = sensor_thread__start(run_worker, w);
	if (err) {
		w->refs = 1;
		worker__put(w);
		return err;
	}
	*out = w;
	return 0;
}

void worker__stop(struct worker *w)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_WAIT_S;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->change);
	/* a thread in a call is not waited for: it ends by itself when the call returns */
	while (!w->ended && !w->call_ns && !pthread_cond_timedwait(&w->change, &w->lock, &until))
		;
	pthread_mutex_unlock(&w->lock);
}
