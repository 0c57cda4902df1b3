// SPDX-License-Identifier: GPL-2.0-or-later
/* A source on a thread of its own: the reader's side, which waits only a bounded time for calls
 * that hang. */
#include "sensor/core/async.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "sensor/core/async_worker.h"

#define PERIOD_MIN_NS 1000000

/* The reader's state of a channel. */
struct reader {
	int from;    /* index of the worker's channel; -1: the worker lacks it */
	double base; /* what was counted before the source was opened again */
	double last; /* last value that was returned */
	bool again;  /* no value was returned since the source was opened again */
};

struct async {
	struct async_opts opts;
	const struct sensor_ops *ops;
	struct sensor_roots roots;
	struct worker *worker; /* NULL: there is none until the next try */
	struct worker *hung[ASYNC_HUNG_MAX];
	uint64_t retry_at_ns;
	uint64_t seen;			 /* seq of the last reading that was returned */
	int err;			 /* last error of async__read(): another one is logged */
	struct sensor_channel *channels; /* [n] */
	struct reader *readers;		 /* [n] */
	unsigned n;
};

static int begin_worker(struct async *s)
{
	int err = worker__start(&s->worker, s->ops, &s->roots, s->opts.period_ns, s->opts.now);

	if (!err)
		s->seen = 0;
	return err;
}

int async__start(struct async **out, const struct sensor_ops *ops, const struct sensor_roots *roots,
		 const struct async_opts *opts)
{
	struct async *s = calloc(1, sizeof(*s));
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
	err = sensor_roots__copy(&s->roots, roots);
	if (!err)
		err = begin_worker(s);
	if (err) {
		async__stop(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Copies the channels of the first worker, whose lock is locked: they never change. */
static int keep_first(struct async *s, const struct worker *w)
{
	s->channels = calloc(w->n + 1, sizeof(*s->channels));
	s->readers = calloc(w->n + 1, sizeof(*s->readers));
	if (!s->channels || !s->readers) {
		free(s->channels);
		free(s->readers);
		s->channels = NULL;
		s->readers = NULL;
		return -ENOMEM;
	}
	memcpy(s->channels, w->channels, w->n * sizeof(*s->channels));
	s->n = w->n;
	return 0;
}

static void map_channels(struct async *s, const struct worker *w)
{
	for (unsigned i = 0; i < s->n; i++) {
		s->readers[i].from = -1;
		for (unsigned k = 0; k < w->n; k++)
			if (!strcmp(s->channels[i].name, w->channels[k].name))
				s->readers[i].from = (int)k;
	}
}

unsigned async__channels(struct async *s, const struct sensor_channel **out)
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

static void no_values(const struct async *s, struct sensor_value *values, enum sensor_quality q)
{
	for (unsigned i = 0; i < s->n; i++)
		values[i] = sensor__no_value(q);
}

/* Continues a counter of a source that was opened again, whose own count begins at 0; what was
 * counted meanwhile is unknown. */
static void go_on(struct async *s, unsigned i, struct sensor_value *v)
{
	struct reader *r = &s->readers[i];
	enum sensor_quantity q = s->channels[i].quantity;

	if (isnan(v->value) || (q != QUANTITY_ENERGY && q != QUANTITY_COUNT))
		return;
	if (r->again) {
		r->again = false;
		r->base = r->last - v->value;
		v->quality = READING_GAP;
	}
	v->value += r->base;
	r->last = v->value;
}

/* Takes the values of the worker's last reading. Its lock is locked. */
static int take_values(struct async *s, struct worker *w, struct sensor_value *values)
{
	bool fresh = w->seq != s->seen, mapped = s->seen;

	if (!w->seq)
		return w->err;
	if (!s->channels)
		return w->err ? w->err : -EAGAIN;
	if (!mapped)
		map_channels(s, w);
	for (unsigned i = 0; i < s->n; i++) {
		values[i] = sensor__no_value(READING_NONE);
		if (s->readers[i].from < 0)
			continue;
		values[i] = w->values[s->readers[i].from];
		go_on(s, i, &values[i]);
		if (!fresh && values[i].quality <= READING_GAP)
			values[i].quality = READING_REPEATED;
	}
	s->seen = w->seq;
	w->taken = true;
	return w->err;
}

/* Puts aside a worker that hangs: its thread ends by itself when the call returns. False: there is
 * no room for one more. */
static bool put_aside(struct async *s, struct worker *w)
{
	for (unsigned i = 0; i < ASYNC_HUNG_MAX; i++) {
		if (s->hung[i])
			continue;
		s->hung[i] = w;
		return true;
	}
	return false;
}

static void forget_returned(struct async *s)
{
	bool ended;

	for (unsigned i = 0; i < ASYNC_HUNG_MAX; i++) {
		if (!s->hung[i])
			continue;
		pthread_mutex_lock(&s->hung[i]->lock);
		ended = s->hung[i]->ended;
		pthread_mutex_unlock(&s->hung[i]->lock);
		if (!ended)
			continue;
		worker__put(s->hung[i]);
		s->hung[i] = NULL;
	}
}

/* As async__read(), for a worker whose lock is locked. */
static int check_worker(struct async *s, struct worker *w, struct sensor_value *values)
{
	uint64_t now = s->opts.now();

	if (w->call_ns && now > w->call_ns && now - w->call_ns > s->opts.deadline_ns) {
		w->stop = true;
		return -ETIMEDOUT;
	}
	return take_values(s, w, values);
}

static void name_error(struct async *s, int err)
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

/* Opens the source again when it is time. */
static void retry_open(struct async *s)
{
	bool room = false;

	forget_returned(s);
	if (s->opts.now() < s->retry_at_ns)
		return;
	for (unsigned i = 0; i < ASYNC_HUNG_MAX; i++)
		room |= !s->hung[i];
	if (room && !begin_worker(s))
		for (unsigned i = 0; i < s->n; i++)
			s->readers[i].again = true;
	s->retry_at_ns = s->opts.now() + s->opts.retry_ns;
}

int async__read(struct async *s, struct sensor_value *values)
{
	struct worker *w;
	bool ended;
	int err;

	if (!s->worker)
		retry_open(s);
	w = s->worker;
	if (!w) {
		no_values(s, values, READING_NONE);
		return s->err;
	}
	pthread_mutex_lock(&w->lock);
	err = check_worker(s, w, values);
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	if (err == -ETIMEDOUT || ended) {
		if (ended || !put_aside(s, w))
			worker__put(w);
		s->worker = NULL;
		s->retry_at_ns = s->opts.now() + s->opts.retry_ns;
	}
	/* an error is repeated until there is a value */
	if (err == -EAGAIN && s->err)
		err = s->err;
	if (err)
		no_values(s, values, err == -EACCES ? READING_DENIED : READING_NONE);
	name_error(s, err);
	return err;
}

void async__set_period(struct async *s, uint64_t ns)
{
	s->opts.period_ns = ns > PERIOD_MIN_NS ? ns : PERIOD_MIN_NS;
	if (s->worker)
		worker__set_period(s->worker, s->opts.period_ns);
}

void async__stop(struct async *s)
{
	if (!s)
		return;
	if (s->worker)
		worker__stop(s->worker);
	worker__put(s->worker);
	for (unsigned i = 0; i < ASYNC_HUNG_MAX; i++)
		worker__put(s->hung[i]);
	sensor_roots__free(&s->roots);
	free(s->channels);
	free(s->readers);
	free(s);
}
