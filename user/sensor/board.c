// SPDX-License-Identifier: GPL-2.0-only
#include "sensor/board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sensor/slow.h"
#include "sensor/slow_worker.h"

struct source {
	const struct sensor_ops *ops;
	struct sensor *fast;
	struct slow *slow;
	struct sensor_value *values; /* [n] */
	unsigned n;
	unsigned first; /* of the board's channels */
};

struct board {
	struct sensor_roots roots;
	struct source *sources;
	unsigned nsources;
	struct board_channel *channels;
	unsigned n;
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

/* Its channels are known now. */
static int take_channels(struct board *b, struct source *s, const struct sensor_channel *ch,
			 unsigned n)
{
	struct board_channel *more = realloc(b->channels, (b->n + n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	b->channels = more;
	s->values = calloc(n + 1, sizeof(*s->values));
	if (!s->values)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		more[b->n + i] = (struct board_channel){
			.ops = s->ops, .channel = &ch[i], .value = NAN, .quality = READING_NONE};
	s->first = b->n;
	s->n = n;
	b->n += n;
	return 0;
}

static int open_source(struct board *b, const struct sensor_ops *ops, uint64_t period_ns)
{
	struct source *s = &b->sources[b->nsources];
	struct slow_opts slow = SLOW_DEFAULTS;
	const struct sensor_channel *ch;
	char why[256] = "";
	unsigned n;
	int err = ops->probe(&b->roots, why, sizeof(why));

	if (err == -ENOENT)
		return 0;
	*s = (struct source){.ops = ops};
	if (period_ns)
		slow.period_ns = period_ns;
	if (!err && ops->slow)
		err = slow__start(&s->slow, ops, &b->roots, &slow);
	else if (!err)
		err = ops->open(&s->fast, &b->roots);
	if (err) {
		log_warn("sensor %s is there and cannot be used: %s%s%s", ops->name, strerror(-err),
			 why[0] ? ": " : "", why);
		return 0;
	}
	b->nsources++;
	if (!s->fast)
		return 0;
	n = ops->channels(s->fast, &ch);
	return take_channels(b, s, ch, n);
}

int board__open(struct board **out, const struct sensor_ops *const *sources, unsigned n,
		const struct board_opts *opts)
{
	struct board *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	if (!err)
		err = sensor_roots__copy(&b->roots, &opts->roots);
	if (!err && !(b->sources = calloc(n + 1, sizeof(*b->sources))))
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < n; i++)
		if (board__means(opts->only, sources[i]->name))
			err = open_source(b, sources[i], opts->slow_period_ns);
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
	for (unsigned i = 0; i < b->nsources; i++) {
		b->sources[i].ops->close(b->sources[i].fast);
		slow__stop(b->sources[i].slow);
		free(b->sources[i].values);
	}
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
	/* the values say for themselves what is wrong */
	(void)(s->slow ? slow__read(s->slow, s->values) : s->ops->read(s->fast, s->values));
	for (unsigned i = 0; i < s->n; i++)
		put_value(&b->channels[s->first + i], &s->values[i]);
}

void board__read(struct board *b)
{
	for (unsigned i = 0; i < b->nsources; i++)
		read_source(b, &b->sources[i]);
}

unsigned board__channels(const struct board *b, const struct board_channel **out)
{
	*out = b->channels;
	return b->n;
}
