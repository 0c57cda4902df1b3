// SPDX-License-Identifier: GPL-2.0-only
#include "sensor/slow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define PERIOD_MIN_NS 1000000
#define STOP_WAIT_S   1

/* One thread and what it has opened. Whoever of slow and thread is last frees it. */
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

struct slow {
	struct slow_opts opts;
	const struct sensor_ops *ops;
	struct sensor_roots roots;
	struct worker *worker; /* NULL: it waits for the next try */
	struct worker *hung[SLOW_HUNG_MAX];
	uint64_t retry_at_ns;
	uint64_t seen; /* seq that was given to the reader */
	int err;       /* as slow__read() returned it last: what is new is named */
	struct sensor_channel *channels;
	unsigned n;
	int *from;    /* [n] channel of the worker, -1: it has it not */
	double *base; /* [n] what was counted before the source was opened again */
	double *last; /* [n] value that was given last */
	bool *again;  /* [n] none was given since it was opened again */
};

static void free_roots(struct sensor_roots *r)
{
	free((char *)r->sys);
	free((char *)r->proc);
	free((char *)r->dev);
	free((char *)r->lib);
}

static int copy_roots(struct sensor_roots *to, const struct sensor_roots *from)
{
	to->sys = strdup(from->sys);
	to->proc = strdup(from->proc);
	to->dev = strdup(from->dev);
	to->lib = from->lib ? strdup(from->lib) : NULL;
	return to->sys && to->proc && to->dev && (to->lib || !from->lib) ? 0 : -ENOMEM;
}

static void worker_put(struct worker *w)
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
	free_roots(&w->roots);
	free(w->channels);
	free(w->values);
	free(w);
}

/* With the lock held, before a call of the source: false: it shall not be made. */
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

static void wait_period(struct worker *w)
{
	struct timespec until;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns = (uint64_t)until.tv_nsec + w->period_ns % NSEC_PER_SEC;
	until.tv_sec += (time_t)(w->period_ns / NSEC_PER_SEC + ns / NSEC_PER_SEC);
	until.tv_nsec = (long)(ns % NSEC_PER_SEC);
	while (!w->stop && !pthread_cond_timedwait(&w->change, &w->lock, &until))
		;
}

/* What the reader has not seen of the reading before is not lost by this one. */
static void keep_quality(const struct worker *w, struct sensor_value *values)
{
	for (unsigned i = 0; i < w->n && w->seq && !w->taken; i++) {
		enum sensor_quality was = w->values[i].quality, *is = &values[i].quality;

		if ((*is == READING_GOOD && was == READING_GAP) ||
		    (*is == READING_REPEATED && was <= READING_GAP))
			*is = was;
	}
}

/* One reading, published. With the lock held. False: the worker is to end. */
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

static void *work(void *arg)
{
	struct worker *w = arg;
	struct sensor_value *values = NULL;
	struct sensor *s = NULL;
	int err = -EAGAIN;

	pthread_mutex_lock(&w->lock);
	if (enter(w)) {
		err = w->ops->open(&s, &w->roots);
		leave(w);
	}
	if (!err)
		err = keep_channels(w, s);
	if (!err)
		values = calloc(w->n + 1, sizeof(*values));
	w->err = err ? err : values ? -EAGAIN : -ENOMEM;
	while (values && read_once(w, s, values))
		wait_period(w);
	pthread_mutex_unlock(&w->lock);
	if (s)
		w->ops->close(s);
	free(values);
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
	worker_put(w);
	return NULL;
}

static void init_sync(struct worker *w)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->change, &attr);
	pthread_condattr_destroy(&attr);
}

/* Signals are the caller's: its loop waits for them. */
static int start_thread(struct worker *w)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int begin(struct slow *s)
{
	struct worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	init_sync(w);
	w->refs = 1;
	w->ops = s->ops;
	w->period_ns = s->opts.period_ns;
	w->now = s->opts.now;
	w->err = -EAGAIN;
	err = copy_roots(&w->roots, &s->roots);
	if (!err) {
		w->refs = 2;
		err = start_thread(w);
		w->refs = err ? 1 : w->refs;
	}
	if (err) {
		worker_put(w);
		return err;
	}
	s->worker = w;
	s->seen = 0;
	return 0;
}

int slow__start(struct slow **out, const struct sensor_ops *ops, const struct sensor_roots *roots,
		const struct slow_opts *opts)
{
	struct slow *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->ops = ops;
	s->opts = *opts;
	s->err = -EAGAIN;
	if (s->opts.period_ns < PERIOD_MIN_NS)
		s->opts.period_ns = PERIOD_MIN_NS;
	if (!s->opts.now)
		s->opts.now = clock__boot_ns;
	err = copy_roots(&s->roots, roots);
	if (!err)
		err = begin(s);
	if (err) {
		slow__stop(s);
		return err;
	}
	*out = s;
	return 0;
}

static void free_kept(struct slow *s)
{
	free(s->channels);
	free(s->from);
	free(s->base);
	free(s->last);
	free(s->again);
	s->channels = NULL;
	s->from = NULL;
	s->base = s->last = NULL;
	s->again = NULL;
	s->n = 0;
}

/* The first worker's channels are the ones for good. Its lock is held. */
static int keep_first(struct slow *s, const struct worker *w)
{
	s->channels = calloc(w->n + 1, sizeof(*s->channels));
	s->from = calloc(w->n + 1, sizeof(*s->from));
	s->base = calloc(w->n + 1, sizeof(*s->base));
	s->last = calloc(w->n + 1, sizeof(*s->last));
	s->again = calloc(w->n + 1, sizeof(*s->again));
	if (!s->channels || !s->from || !s->base || !s->last || !s->again) {
		free_kept(s);
		return -ENOMEM;
	}
	memcpy(s->channels, w->channels, w->n * sizeof(*s->channels));
	s->n = w->n;
	return 0;
}

static void map_channels(struct slow *s, const struct worker *w)
{
	for (unsigned i = 0; i < s->n; i++) {
		s->from[i] = -1;
		for (unsigned k = 0; k < w->n; k++)
			if (!strcmp(s->channels[i].name, w->channels[k].name))
				s->from[i] = (int)k;
	}
}

unsigned slow__channels(struct slow *s, const struct sensor_channel **out)
{
	struct worker *w = s->worker;

	if (!s->n && w) {
		pthread_mutex_lock(&w->lock);
		if (w->seq && !s->channels)
			keep_first(s, w);
		pthread_mutex_unlock(&w->lock);
	}
	*out = s->channels;
	return s->n;
}

static void no_values(const struct slow *s, struct sensor_value *values, enum sensor_quality q)
{
	for (unsigned i = 0; i < s->n; i++)
		values[i] = sensor__no_value(q);
}

/* Counters of a source that was opened again begin again: they go on from where they were, and
 * what passed meanwhile is not known. */
static void go_on(struct slow *s, unsigned i, struct sensor_value *v)
{
	enum sensor_quantity q = s->channels[i].quantity;

	if (isnan(v->value) || (q != QUANTITY_ENERGY && q != QUANTITY_COUNT))
		return;
	if (s->again[i]) {
		s->again[i] = false;
		s->base[i] = s->last[i] - v->value;
		v->quality = READING_GAP;
	}
	v->value += s->base[i];
	s->last[i] = v->value;
}

/* With the worker's lock held. */
static int take_values(struct slow *s, struct worker *w, struct sensor_value *values)
{
	bool fresh = w->seq != s->seen, mapped = s->seen;

	if (!w->seq)
		return w->err;
	if (!s->channels && keep_first(s, w))
		return -ENOMEM;
	if (!mapped)
		map_channels(s, w);
	for (unsigned i = 0; i < s->n; i++) {
		values[i] = sensor__no_value(READING_NONE);
		if (s->from[i] < 0)
			continue;
		values[i] = w->values[s->from[i]];
		go_on(s, i, &values[i]);
		if (!fresh && values[i].quality <= READING_GAP)
			values[i].quality = READING_REPEATED;
	}
	s->seen = w->seq;
	w->taken = true;
	return w->err;
}

/* Threads that came back have ended by themselves. False: no place for another one. */
static bool put_aside(struct slow *s, struct worker *w)
{
	for (unsigned i = 0; i < SLOW_HUNG_MAX; i++) {
		if (s->hung[i])
			continue;
		s->hung[i] = w;
		return true;
	}
	return false;
}

static void forget_returned(struct slow *s)
{
	bool ended;

	for (unsigned i = 0; i < SLOW_HUNG_MAX; i++) {
		if (!s->hung[i])
			continue;
		pthread_mutex_lock(&s->hung[i]->lock);
		ended = s->hung[i]->ended;
		pthread_mutex_unlock(&s->hung[i]->lock);
		if (!ended)
			continue;
		worker_put(s->hung[i]);
		s->hung[i] = NULL;
	}
}

/* The state of the worker: as slow__read(). With its lock held. */
static int look(struct slow *s, struct worker *w, struct sensor_value *values)
{
	uint64_t now = s->opts.now();

	if (w->call_ns && now > w->call_ns && now - w->call_ns > s->opts.deadline_ns) {
		w->stop = true;
		return -ETIMEDOUT;
	}
	return take_values(s, w, values);
}

static void name_it(struct slow *s, int err)
{
	const char *name = s->ops->name;

	if (err == s->err || err == -EAGAIN)
		return;
	if (err == -ETIMEDOUT)
		log_warn("sensor %s: gives no answer for more than %.3g s: its values are missing "
			 "until it does; it is opened again every %.3g s",
			 name, (double)s->opts.deadline_ns / NSEC_PER_SEC,
			 (double)s->opts.retry_ns / NSEC_PER_SEC);
	else if (err)
		log_warn("sensor %s: cannot be read: %s; it is tried again", name, strerror(-err));
	else if (s->err != -EAGAIN)
		log_info("sensor %s: answers again", name);
	s->err = err;
}

/* Opens it again when it is time. */
static void retry(struct slow *s)
{
	bool room = false;

	forget_returned(s);
	if (s->opts.now() < s->retry_at_ns)
		return;
	for (unsigned i = 0; i < SLOW_HUNG_MAX; i++)
		room |= !s->hung[i];
	if (room && !begin(s))
		for (unsigned i = 0; i < s->n; i++)
			s->again[i] = true;
	s->retry_at_ns = s->opts.now() + s->opts.retry_ns;
}

int slow__read(struct slow *s, struct sensor_value *values)
{
	struct worker *w;
	bool ended;
	int err;

	if (!s->worker)
		retry(s);
	w = s->worker;
	if (!w) {
		no_values(s, values, READING_NONE);
		return s->err;
	}
	pthread_mutex_lock(&w->lock);
	err = look(s, w, values);
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	if (err == -ETIMEDOUT || ended) {
		if (ended || !put_aside(s, w))
			worker_put(w);
		s->worker = NULL;
		s->retry_at_ns = s->opts.now() + s->opts.retry_ns;
	}
	/* What was wrong goes on until there is a value. */
	if (err == -EAGAIN && s->err)
		err = s->err;
	if (err)
		no_values(s, values, err == -EACCES ? READING_DENIED : READING_NONE);
	name_it(s, err);
	return err;
}

static void end_worker(struct worker *w)
{
	struct timespec until;

	if (!w)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_WAIT_S;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->change);
	/* In a call: it ends by itself when that comes back. */
	while (!w->ended && !w->call_ns && !pthread_cond_timedwait(&w->change, &w->lock, &until))
		;
	pthread_mutex_unlock(&w->lock);
	worker_put(w);
}

void slow__stop(struct slow *s)
{
	if (!s)
		return;
	end_worker(s->worker);
	for (unsigned i = 0; i < SLOW_HUNG_MAX; i++)
		worker_put(s->hung[i]);
	free_roots(&s->roots);
	free_kept(s);
	free(s);
}
