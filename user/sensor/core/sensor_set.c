// SPDX-License-Identifier: GPL-2.0-only
#include "sensor/core/sensor_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "sensor/core/async.h"
#include "sensor/core/async_worker.h"

/* How often sources that grow are opened again. */
#define LOOK_NS (60 * NSEC_PER_SEC)
/* That often slow sources are read that nobody wants. */
#define IDLE_NS (3600 * NSEC_PER_SEC)
/* One that has not answered by then is not waited for. */
#define LOOKS_MAX_NS (30 * NSEC_PER_SEC)

struct source {
	const struct sensor_ops *ops;
	struct sensor *fast;
	struct slow *slow;
	struct sensor_value *values; /* [n] */
	int *at;		     /* [n] which of the board's channels; -1: another's */
	unsigned n;
	bool idle;  /* nobody wants it */
	bool stale; /* it has been idle, and has said nothing new since */
};

struct board {
	struct sensor_roots roots;
	struct slow_opts slow;
	struct source *sources;
	unsigned nsources;
	struct board_channel *channels;
	unsigned n;
	const struct sensor_ops **growing; /* [ngrowing] */
	unsigned ngrowing, next_growing;
	struct source look; /* a growing one that has been opened to see whether there is more */
	uint64_t look_ns, looked_ns;
};

static bool is_word(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !strncmp(word, name, len);
}

bool board__means(const char *only, const char *name)
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

static bool has(const struct board *b, const struct sensor_ops *ops, const char *name)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->channels[i].ops == ops && !strcmp(b->channels[i].channel->name, name))
			return true;
	return false;
}

/* Its channels are known now: those that the board does not have yet. How many, or -ENOMEM. */
static int take_channels(struct board *b, struct source *s, const struct sensor_channel *ch,
			 unsigned n)
{
	struct board_channel *more = realloc(b->channels, (b->n + n + 1) * sizeof(*more));
	unsigned had = b->n;

	if (!more)
		return -ENOMEM;
	b->channels = more;
	s->values = calloc(n + 1, sizeof(*s->values));
	s->at = calloc(n + 1, sizeof(*s->at));
	if (!s->values || !s->at)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		s->at[i] = -1;
		if (s->ops->grows && has(b, s->ops, ch[i].name))
			continue;
		s->at[i] = (int)b->n;
		more[b->n++] = (struct board_channel){
			.ops = s->ops, .channel = &ch[i], .value = NAN, .quality = READING_NONE};
	}
	s->n = n;
	return (int)(b->n - had);
}

/* Room for one more source. */
static int reserve(struct board *b)
{
	struct source *more = realloc(b->sources, (b->nsources + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	b->sources = more;
	return 0;
}

static void close_source(struct source *s)
{
	if (s->ops)
		s->ops->close(s->fast);
	slow__stop(s->slow);
	free(s->values);
	free(s->at);
	*s = (struct source){};
}

static int open_source(struct board *b, const struct sensor_ops *ops)
{
	const struct sensor_channel *ch;
	struct source s = {.ops = ops};
	char why[256] = "";
	unsigned n;
	int err = ops->probe(&b->roots, why, sizeof(why));

	if (ops->grows)
		b->growing[b->ngrowing++] = ops;
	if (err == -ENOENT)
		return 0;
	if (!err && ops->slow)
		err = slow__start(&s.slow, ops, &b->roots, &b->slow);
	else if (!err)
		err = ops->open(&s.fast, &b->roots);
	if (err) {
		log_warn("sensor %s is there and cannot be used: %s%s%s", ops->name, strerror(-err),
			 why[0] ? ": " : "", why);
		return 0;
	}
	if (s.fast) {
		n = ops->channels(s.fast, &ch);
		err = take_channels(b, &s, ch, n);
	}
	if (err >= 0)
		err = reserve(b);
	if (err) {
		close_source(&s);
		return err;
	}
	b->sources[b->nsources++] = s;
	return 0;
}

int board__open(struct board **out, const struct sensor_ops *const *sources, unsigned n,
		const struct board_opts *opts)
{
	struct board *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	if (!err)
		err = sensor_roots__copy(&b->roots, &opts->roots);
	if (!err && !(b->growing = calloc(n + 1, sizeof(struct sensor_ops *))))
		err = -ENOMEM;
	if (!err) {
		b->slow = (struct slow_opts)SLOW_DEFAULTS;
		if (opts->slow_period_ns)
			b->slow.period_ns = opts->slow_period_ns;
		b->look_ns = opts->look_ns ? opts->look_ns : LOOK_NS;
		b->looked_ns = clock__boot_ns();
	}
	for (unsigned i = 0; !err && i < n; i++)
		if (board__means(opts->only, sources[i]->name))
			err = open_source(b, sources[i]);
	if (err) {
		board__close(b);
		return err;
	}
	*out = b;
	return 0;
}

void board__close(struct board *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < b->nsources; i++)
		close_source(&b->sources[i]);
	close_source(&b->look);
	free(b->growing);
	sensor_roots__free(&b->roots);
	free(b->sources);
	free(b->channels);
	free(b);
}

static void put_value(struct board_channel *c, const struct sensor_value *v)
{
	bool had = !isnan(c->value);

	c->quality = v->quality;
	c->value = v->value;
	if (v->quality == READING_GAP || (had && isnan(v->value)))
		c->gaps++;
	if (!isnan(v->value))
		c->time_ns = v->time_ns;
}

static void read_source(struct board *b, struct source *s)
{
	const struct sensor_channel *ch;
	unsigned n;

	if (s->slow && !s->values && (n = slow__channels(s->slow, &ch)))
		take_channels(b, s, ch, n);
	if (!s->values) {
		if (s->slow) /* which tries again, and says what is wrong */
			slow__read(s->slow, NULL);
		return;
	}
	/* the values say for themselves what is wrong */
	(void)(s->slow ? slow__read(s->slow, s->values) : s->ops->read(s->fast, s->values));
	for (unsigned i = 0; s->stale && i < s->n; i++)
		s->stale = s->values[i].quality > READING_GAP;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->stale)
			s->values[i] = sensor__no_value(READING_NONE);
		if (s->at[i] >= 0)
			put_value(&b->channels[s->at[i]], &s->values[i]);
	}
}

/* Opens the next one that grows, beside what of it is open. */
static void begin_look(struct board *b)
{
	const struct sensor_ops *ops = b->growing[b->next_growing++ % b->ngrowing];
	char why[256];

	if (ops->probe(&b->roots, why, sizeof(why)) ||
	    slow__start(&b->look.slow, ops, &b->roots, &b->slow))
		return;
	b->look.ops = ops;
}

/* It has answered, or will not. What it has more is kept. */
static void end_look(struct board *b, uint64_t now)
{
	const struct sensor_channel *ch;
	unsigned n = slow__channels(b->look.slow, &ch);

	if (!n && now < b->looked_ns + LOOKS_MAX_NS) {
		slow__read(b->look.slow, NULL);
		return;
	}
	if (n && !reserve(b) && take_channels(b, &b->look, ch, n) > 0) {
		b->sources[b->nsources++] = b->look;
		b->look = (struct source){};
	}
	close_source(&b->look);
}

static void look_for_more(struct board *b)
{
	uint64_t now = clock__boot_ns();

	if (b->look.slow) {
		end_look(b, now);
	} else if (b->ngrowing && now > b->looked_ns + b->look_ns) {
		b->looked_ns = now;
		begin_look(b);
	}
}

static void read_some(struct board *b, bool idle_too)
{
	look_for_more(b);
	for (unsigned i = 0; i < b->nsources; i++)
		if (!b->sources[i].idle || (idle_too && b->sources[i].fast))
			read_source(b, &b->sources[i]);
}

void board__read(struct board *b)
{
	read_some(b, false);
}

void board__read_all(struct board *b)
{
	read_some(b, true);
}

static void set_idle(struct board *b, struct source *s, bool idle)
{
	const struct sensor_value none = sensor__no_value(READING_NONE);

	/* what is not read must not look as if it stood still */
	for (unsigned i = 0; idle && !s->idle && i < s->n; i++)
		if (s->at[i] >= 0)
			put_value(&b->channels[s->at[i]], &none);
	s->stale = s->slow && (s->stale || idle);
	s->idle = idle;
}

void board__want(struct board *b, const bool *wanted, unsigned n, uint64_t slow_period_ns)
{
	b->slow.period_ns = slow_period_ns;
	for (unsigned i = 0; i < b->nsources; i++) {
		struct source *s = &b->sources[i];
		bool any = !s->n; /* until it is known what it has */

		for (unsigned k = 0; k < s->n; k++)
			any = any || (s->at[k] >= 0 && (unsigned)s->at[k] < n && wanted[s->at[k]]);
		set_idle(b, s, !any);
		if (s->slow)
			slow__set_period(s->slow, any ? slow_period_ns : IDLE_NS);
	}
}

unsigned board__channels(const struct board *b, const struct board_channel **out)
{
	*out = b->channels;
	return b->n;
}
