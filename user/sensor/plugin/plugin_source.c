// SPDX-License-Identifier: GPL-2.0-only
/* A plug-in as a source like any other: its answers are checked at each call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sensor/core/file.h"
#include "sensor/plugin/plugin.h"

#define MAX_ERRNO 4095

/* A counter, from the plug-in's count to the total since the source was opened. */
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

/* Plug-ins, and the source that each has become. */
static const struct jobprof_sensor *plugins[PLUGINS_MAX];
static struct sensor_ops sources[PLUGINS_MAX];
static unsigned nplugins;

/* A plug-in's error as one of this program, in which -ETIMEDOUT and -EAGAIN of a read mean that the
 * source hangs and that there is no reading yet. */
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
	if (s->open)
		s->plugin->close(s->state);
	free(s->channel);
	free(s->count);
	free(s->value);
}

static int plugin_open(struct sensor *s, const struct sensor_ops *ops,
		       const struct sensor_roots *roots)
{
	int err;

	s->plugin = plugins__of(ops);
	s->roots = (struct jobprof_sensor_roots){roots->sys, roots->proc, roots->dev};
	err = own_error(s->plugin->open(&s->state, &s->roots));
	s->open = !err;
	return err ? err : add_channels(s);
}

static void plugin_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			    char *text, size_t len)
{
	snprintf(text, len, "%s", err ? strerror(-err) : s->plugin->doc);
}

static int plugin_probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
			size_t len)
{
	const struct jobprof_sensor_roots r = {roots->sys, roots->proc, roots->dev};
	int err;

	text[0] = '\0';
	err = own_error(plugins__of(ops)->probe(&r, text, len));
	text[len - 1] = '\0';
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

const struct sensor_ops *plugin__source(const struct jobprof_sensor *p)
{
	struct sensor_ops *o = &sources[nplugins];

	if (nplugins == PLUGINS_MAX)
		return NULL;
	plugins[nplugins++] = p;
	*o = (struct sensor_ops){
		.name = p->name,
		.doc = p->doc,
		.slow = p->flags & JOBPROF_SENSOR_SLOW,
		.size = sizeof(struct sensor),
		.open = plugin_open,
		.describe = plugin_describe,
		.probe = p->probe ? plugin_probe : NULL,
		.channels = plugin_channels,
		.read = plugin_read,
		.close = plugin_close,
	};
	return o;
}

const struct jobprof_sensor *plugins__of(const struct sensor_ops *ops)
{
	for (unsigned k = 0; k < nplugins; k++)
		if (ops == &sources[k])
			return plugins[k];
	return NULL;
}
