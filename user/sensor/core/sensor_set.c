// SPDX-License-Identifier: GPL-2.0-or-later
/* All open sources of a node, with the last value of each channel. */
#include "sensor/core/sensor_set.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/room.h"
#include "sensor/core/async.h"
#include "sensor/core/async_worker.h"

/* period in which sources that grow are opened again */
#define RESCAN_NS (60 * NSEC_PER_SEC)
/* period in which slow sources that nobody wants are read */
#define IDLE_NS (3600 * NSEC_PER_SEC)
/* a rescan that takes longer is given up */
#define RESCAN_MAX_NS (30 * NSEC_PER_SEC)

struct source {
	const struct sensor_ops *ops;
	struct sensor *fast;
	struct async *slow;
	struct sensor_value *values; /* [n] */
	int *at; /* [n] index in the set's channels; -1: another source has the channel */
	unsigned n;
	bool idle;  /* none of its channels is wanted */
	bool stale; /* it was idle, and has had no new reading since */
};

struct sensor_set {
	struct sensor_roots roots;
	struct async_opts slow;
	struct source *sources;
	unsigned nsources;
	struct channel_state *channels;
	unsigned n;
	const struct sensor_ops **growing; /* [ngrowing] */
	unsigned ngrowing, next_growing;
	struct source rescan; /* a growing source, opened again to look for new channels */
	uint64_t rescan_ns, rescanned_ns;
};

static bool is_word(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(word, name, len);
}

bool sensor_set__word(const char **list, char *word, size_t size)
{
	size_t len = strcspn(*list, ", ");

	snprintf(word, size, "%.*s", (int)len - (**list == '-'), *list + (**list == '-'));
	*list += len;
	*list += strspn(*list, ", ");
	return *word;
}

bool sensor_set__means(const char *only, const char *name)
{
	bool yes = false;

	if (!only)
		return true;
	for (const char *p = only; *p;) {
		size_t len = strcspn(p, ", ");

		if (is_word(p, len, "all") || is_word(p, len, name))
			yes = true;
		else if (*p == '-' && is_word(p + 1, len - 1, name))
			yes = false;
		p += len;
		p += strspn(p, ", ");
	}
	return yes;
}

static bool has_channel(const struct sensor_set *set, const struct sensor_ops *ops,
			const char *name)
{
	for (unsigned i = 0; i < set->n; i++)
		if (set->channels[i].ops == ops && !strcmp(set->channels[i].channel->name, name))
			return true;
	return false;
}

/* Adds the channels of a source that the set lacks. Returns their number, or -ENOMEM. */
static int take_channels(struct sensor_set *set, struct source *s, const struct sensor_channel *ch,
			 unsigned n)
{
	unsigned had = set->n;

	if (room__grow(&set->channels, set->n, n, sizeof(*set->channels)))
		return -ENOMEM;
	s->values = calloc(n + 1, sizeof(*s->values));
	s->at = calloc(n + 1, sizeof(*s->at));
	if (!s->values || !s->at)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		s->at[i] = -1;
		if (s->ops->grows && has_channel(set, s->ops, ch[i].name))
			continue;
		s->at[i] = (int)set->n;
		set->channels[set->n++] = (struct channel_state){
			.ops = s->ops, .channel = &ch[i], .value = NAN, .quality = READING_NONE};
	}
	s->n = n;
	return (int)(set->n - had);
}

/* Makes room for one more source. */
static int reserve_source(struct sensor_set *set)
{
	return room__grow(&set->sources, set->nsources, 1, sizeof(*set->sources));
}

static void close_source(struct source *s)
{
	if (s->ops)
		sensor__close(s->ops, s->fast);
	async__stop(s->slow);
	free(s->values);
	free(s->at);
	*s = (struct source){};
}

static int open_source(struct sensor_set *set, const struct sensor_ops *ops)
{
	const struct sensor_channel *ch;
	struct source s = {.ops = ops};
	char reason[256] = "";
	unsigned n;
	int err = sensor__probe(ops, &set->roots, reason, sizeof(reason));

	if (ops->grows)
		set->growing[set->ngrowing++] = ops;
	if (err == -ENOENT)
		return 0;
	if (!err && ops->slow)
		err = async__start(&s.slow, ops, &set->roots, &set->slow);
	else if (!err)
		err = sensor__open(ops, &s.fast, &set->roots);
	if (err) {
		log_warn("sensor %s is there and cannot be used: %s%s%s", ops->name, strerror(-err),
			 reason[0] ? ": " : "", reason);
		return 0;
	}
	if (s.fast) {
		n = ops->channels(s.fast, &ch);
		err = take_channels(set, &s, ch, n);
	}
	if (err >= 0)
		err = reserve_source(set);
	if (err) {
		close_source(&s);
		return err;
	}
	set->sources[set->nsources++] = s;
	return 0;
}

int sensor_set__open(struct sensor_set **out, const struct sensor_ops *const *sources, unsigned n,
		     const struct sensor_set_opts *opts)
{
	struct sensor_set *set = calloc(1, sizeof(*set));
	int err = set ? 0 : -ENOMEM;

	if (!err)
		err = sensor_roots__copy(&set->roots, &opts->roots);
	if (!err && !(set->growing = calloc(n + 1, sizeof(struct sensor_ops *))))
		err = -ENOMEM;
	if (!err) {
		set->slow = (struct async_opts)ASYNC_DEFAULTS;
		if (opts->slow_period_ns)
			set->slow.period_ns = opts->slow_period_ns;
		set->rescan_ns = opts->rescan_ns ? opts->rescan_ns : RESCAN_NS;
		set->rescanned_ns = clock__boot_ns();
	}
	for (unsigned i = 0; !err && i < n; i++)
		if (sensor_set__means(opts->only, sources[i]->name))
			err = open_source(set, sources[i]);
	if (err) {
		sensor_set__close(set);
		return err;
	}
	*out = set;
	return 0;
}

void sensor_set__close(struct sensor_set *set)
{
	if (!set)
		return;
	for (unsigned i = 0; i < set->nsources; i++)
		close_source(&set->sources[i]);
	close_source(&set->rescan);
	free(set->growing);
	sensor_roots__free(&set->roots);
	free(set->sources);
	free(set->channels);
	free(set);
}

static void put_value(struct channel_state *c, const struct sensor_value *v)
{
	bool had = !isnan(c->value);

	c->quality = v->quality;
	c->value = v->value;
	if (v->quality == READING_GAP || (had && isnan(v->value)))
		c->gaps++;
	if (!isnan(v->value))
		c->time_ns = v->time_ns;
}

static void read_source(struct sensor_set *set, struct source *s)
{
	const struct sensor_channel *ch;
	unsigned n;

	if (s->slow && !s->values && (n = async__channels(s->slow, &ch)))
		take_channels(set, s, ch, n);
	if (!s->values) {
		if (s->slow) /* the thread tries again, and logs errors */
			async__read(s->slow, NULL);
		return;
	}
	/* an error is in the qualities of the values */
	(void)(s->slow ? async__read(s->slow, s->values) : s->ops->read(s->fast, s->values));
	for (unsigned i = 0; s->stale && i < s->n; i++)
		s->stale = s->values[i].quality > READING_GAP;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->stale)
			s->values[i] = sensor__no_value(READING_NONE);
		if (s->at[i] >= 0)
			put_value(&set->channels[s->at[i]], &s->values[i]);
	}
}

/* Opens the next growing source a second time, while the first stays open. */
static void begin_rescan(struct sensor_set *set)
{
	const struct sensor_ops *ops = set->growing[set->next_growing++ % set->ngrowing];
	char reason[256];

	if (sensor__probe(ops, &set->roots, reason, sizeof(reason)) ||
	    async__start(&set->rescan.slow, ops, &set->roots, &set->slow))
		return;
	set->rescan.ops = ops;
}

/* Ends a rescan that has answered, or took too long. The set takes its new channels. */
static void end_rescan(struct sensor_set *set, uint64_t now)
{
	const struct sensor_channel *ch;
	unsigned n = async__channels(set->rescan.slow, &ch);

	if (!n && now < set->rescanned_ns + RESCAN_MAX_NS) {
		async__read(set->rescan.slow, NULL);
		return;
	}
	if (n && !reserve_source(set) && take_channels(set, &set->rescan, ch, n) > 0) {
		set->sources[set->nsources++] = set->rescan;
		set->rescan = (struct source){};
	}
	close_source(&set->rescan);
}

static void rescan_growing(struct sensor_set *set)
{
	uint64_t now = clock__boot_ns();

	if (set->rescan.slow) {
		end_rescan(set, now);
	} else if (set->ngrowing && now > set->rescanned_ns + set->rescan_ns) {
		set->rescanned_ns = now;
		begin_rescan(set);
	}
}

static void read_some(struct sensor_set *set, bool idle_too)
{
	rescan_growing(set);
	for (unsigned i = 0; i < set->nsources; i++)
		if (!set->sources[i].idle || (idle_too && set->sources[i].fast))
			read_source(set, &set->sources[i]);
}

void sensor_set__read(struct sensor_set *set)
{
	read_some(set, false);
}

void sensor_set__read_all(struct sensor_set *set)
{
	read_some(set, true);
}

static void set_idle(struct sensor_set *set, struct source *s, bool idle)
{
	const struct sensor_value none = sensor__no_value(READING_NONE);

	/* a channel that is not read must not seem to have a constant value */
	for (unsigned i = 0; idle && !s->idle && i < s->n; i++)
		if (s->at[i] >= 0)
			put_value(&set->channels[s->at[i]], &none);
	s->stale = s->slow && (s->stale || idle);
	s->idle = idle;
}

void sensor_set__want(struct sensor_set *set, const bool *wanted, unsigned n,
		      uint64_t slow_period_ns)
{
	set->slow.period_ns = slow_period_ns;
	for (unsigned i = 0; i < set->nsources; i++) {
		struct source *s = &set->sources[i];
		bool any = !s->n; /* its channels are not known yet */

		for (unsigned k = 0; k < s->n; k++)
			any = any || (s->at[k] >= 0 && (unsigned)s->at[k] < n && wanted[s->at[k]]);
		set_idle(set, s, !any);
		if (s->slow)
			async__set_period(s->slow, any ? slow_period_ns : IDLE_NS);
	}
}

unsigned sensor_set__channels(const struct sensor_set *set, const struct channel_state **out)
{
	*out = set->channels;
	return set->n;
}
