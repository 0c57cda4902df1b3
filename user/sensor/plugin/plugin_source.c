// SPDX-License-Identifier: GPL-2.0-only
/* A plug-in as a source like any other: what it says is checked at each call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sensor/core/file.h"
#include "sensor/plugin/plugin.h"

#define MAX_ERRNO 4095

/* On its way from the plug-in's count to "since opened". */
struct plugin_count {
	double last, total;
	bool started, away;
};

struct sensor {
	const struct jobprof_sensor *plugin;
	struct jobprof_sensor_roots roots;
	void *state;
	bool open;
	unsigned n;
	struct sensor_channel *channel;	    /* [n] */
	struct plugin_count *count;	    /* [n] */
	struct jobprof_sensor_value *value; /* [n] */
};

static const struct jobprof_sensor *plugins[PLUGINS_MAX];

/* Who reads slow sources has a meaning of its own for two of them. */
static int own_error(int err)
{
	if (err > 0 || err < -MAX_ERRNO)
		return -EIO;
	return err == -ETIMEDOUT ? -ETIME : err == -EAGAIN ? -ENODATA : err;
}

static void name_channel(struct sensor *s, unsigned i, const char *table)
{
	const struct jobprof_sensor_column *from = &s->plugin->columns[i % s->plugin->ncolumns];
	struct sensor_channel *c = &s->channel[i];
	char name[SENSOR_NAME];
	bool count = from->kind == JOBPROF_SENSOR_COUNT;

	snprintf(name, sizeof(name), "%s%s%s", table ? table : "", table ? " " : "", from->name);
	*c = sensor__channel(name);
	snprintf(c->unit, sizeof(c->unit), "%s", from->unit);
	snprintf(c->series, sizeof(c->series), "%s%s%s", s->plugin->series, table ? "/" : "",
		 table ? table : "");
	snprintf(c->column, sizeof(c->column), "%s", from->name);
	c->quantity = !count			 ? QUANTITY_LEVEL
		      : !strcmp(from->unit, "J") ? QUANTITY_ENERGY
						 : QUANTITY_COUNT;
}

static bool tables_ok(const char *const *names, int n)
{
	for (int i = 0; i < n; i++) {
		if (!plugin__is_table(names[i]))
			return false;
		for (int k = 0; k < i; k++)
			if (!strcmp(names[i], names[k]))
				return false;
	}
	return true;
}

static int add_channels(struct sensor *s)
{
	const char *const *names = NULL;
	unsigned ncolumns = s->plugin->ncolumns;
	int n = s->plugin->tables ? s->plugin->tables(s->state, &names) : 1;

	if (n < 0)
		return own_error(n);
	if (!n)
		return -ENOENT;
	if (n > JOBPROF_SENSOR_TABLES_MAX)
		return -E2BIG;
	if (s->plugin->tables && (!names || !tables_ok(names, n)))
		return -EINVAL;
	s->n = (unsigned)n * ncolumns;
	s->channel = calloc(s->n, sizeof(*s->channel));
	s->count = calloc(s->n, sizeof(*s->count));
	s->value = calloc(s->n, sizeof(*s->value));
	if (!s->channel || !s->count || !s->value)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n; i++)
		name_channel(s, i, names ? names[i / ncolumns] : NULL);
	return 0;
}

static void plugin_close(struct sensor *s)
{
	if (!s)
		return;
	if (s->open)
		s->plugin->close(s->state);
	free(s->channel);
	free(s->count);
	free(s->value);
	free(s);
}

static int plugin_open(const struct jobprof_sensor *p, struct sensor **out,
		       const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->plugin = p;
	s->roots = (struct jobprof_sensor_roots){roots->sys, roots->proc, roots->dev};
	err = own_error(p->open(&s->state, &s->roots));
	s->open = !err;
	if (!err)
		err = add_channels(s);
	if (err) {
		plugin_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static int plugin_probe(const struct jobprof_sensor *p, const struct sensor_roots *roots, char *why,
			size_t len)
{
	const struct jobprof_sensor_roots r = {roots->sys, roots->proc, roots->dev};
	struct sensor *s = NULL;
	int err;

	why[0] = '\0';
	if (p->probe) {
		err = own_error(p->probe(&r, why, len));
		why[len - 1] = '\0';
		return err;
	}
	err = plugin_open(p, &s, roots);
	plugin_close(s);
	snprintf(why, len, "%s", err ? strerror(-err) : p->doc);
	return err;
}

static unsigned plugin_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static enum sensor_quality quality_of(uint32_t q)
{
	static const enum sensor_quality table[] = {
		[JOBPROF_SENSOR_GOOD] = READING_GOOD,
		[JOBPROF_SENSOR_GAP] = READING_GAP,
		[JOBPROF_SENSOR_NONE] = READING_NONE,
		[JOBPROF_SENSOR_DENIED] = READING_DENIED,
		[JOBPROF_SENSOR_REPEATED] = READING_REPEATED,
	};

	return q < sizeof(table) / sizeof(table[0]) ? table[q] : READING_NONE;
}

static void add_count(struct plugin_count *c, struct sensor_value *v)
{
	bool gap = c->started && (c->away || v->quality == READING_GAP || v->value < c->last);

	if (c->started && !gap)
		c->total += v->value - c->last;
	c->last = v->value;
	c->started = true;
	c->away = false;
	v->value = c->total;
	if (gap)
		v->quality = READING_GAP;
	else if (v->quality == READING_GAP)
		v->quality = READING_GOOD;
}

static struct sensor_value take_value(struct sensor *s, unsigned i, uint64_t now)
{
	const struct jobprof_sensor_value *from = &s->value[i];
	enum sensor_quality q = quality_of(from->quality);
	bool count = s->channel[i].quantity != QUANTITY_LEVEL;
	struct sensor_value v = {.value = from->value, .quality = q};

	if (q == READING_NONE || q == READING_DENIED || !isfinite(v.value) ||
	    (count && v.value < 0)) {
		v = sensor__no_value(q == READING_DENIED ? q : READING_NONE);
		s->count[i].away = true;
	} else if (count) {
		add_count(&s->count[i], &v);
	}
	v.time_ns = from->time_ns && from->time_ns <= now ? from->time_ns : now;
	return v;
}

static int plugin_read(struct sensor *s, struct sensor_value *values)
{
	uint64_t now;
	int err;

	for (unsigned i = 0; i < s->n; i++)
		s->value[i] = (struct jobprof_sensor_value){.value = NAN};
	err = own_error(s->plugin->read(s->state, s->value));
	now = clock__boot_ns();
	for (unsigned i = 0; i < s->n; i++) {
		if (err)
			s->value[i] = (struct jobprof_sensor_value){
				.value = NAN,
				.quality = err == -EACCES ? JOBPROF_SENSOR_DENIED
							  : JOBPROF_SENSOR_NONE};
		values[i] = take_value(s, i, now);
	}
	return err ? err : sensor__any_value(values, s->n);
}

/* Functions of struct sensor_ops do not get the source that is asked: each has its own two. */
#define SLOT(k)                                                                       \
	static int probe_##k(const struct sensor_roots *roots, char *why, size_t len) \
	{                                                                             \
		return plugin_probe(plugins[k], roots, why, len);                     \
	}                                                                             \
	static int open_##k(struct sensor **out, const struct sensor_roots *roots)    \
	{                                                                             \
		return plugin_open(plugins[k], out, roots);                           \
	}
#define EACH_SLOT(f) \
	f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
EACH_SLOT(SLOT)

#define OPS(k)                               \
	{                                    \
		.probe = probe_##k,          \
		.open = open_##k,            \
		.channels = plugin_channels, \
		.read = plugin_read,         \
		.close = plugin_close,       \
	},
static struct sensor_ops ops[] = {EACH_SLOT(OPS)};
_Static_assert(sizeof(ops) / sizeof(ops[0]) == PLUGINS_MAX, "a slot for each");

const struct sensor_ops *plugin__source(const struct jobprof_sensor *p)
{
	unsigned k = 0;

	while (k < PLUGINS_MAX && plugins[k])
		k++;
	if (k == PLUGINS_MAX)
		return NULL;
	plugins[k] = p;
	ops[k].name = p->name;
	ops[k].doc = p->doc;
	ops[k].slow = p->flags & JOBPROF_SENSOR_SLOW;
	return &ops[k];
}

const struct jobprof_sensor *plugins__of(const struct sensor_ops *o)
{
	for (unsigned k = 0; k < PLUGINS_MAX; k++)
		if (o == &ops[k])
			return plugins[k];
	return NULL;
}
