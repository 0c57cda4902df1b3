// SPDX-License-Identifier: GPL-2.0-only
/* Pressure and memory of the whole node. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sensor/node/cpu.h"
#include "sensor/core/file.h"
#include "sensor/core/text.h"

/* One file and what is in it. */
typedef int (*read_fn)(struct sensor_text *text, uint64_t *v);

static int read_pressure(struct sensor_text *text, uint64_t *us);
static int read_memory(struct sensor_text *text, uint64_t *kib);

static const struct {
	const char *file, *name, *unit, *column;
	enum sensor_quantity quantity;
	double scale; /* from the file's number to the unit */
	read_fn read;
} kinds[] = {
	{"pressure/cpu", "waits for CPU", "s", "PSICpu", QUANTITY_COUNT, 1e-6, read_pressure},
	{"pressure/memory", "waits for memory", "s", "PSIMem", QUANTITY_COUNT, 1e-6, read_pressure},
	{"pressure/io", "waits for I/O", "s", "PSIIO", QUANTITY_COUNT, 1e-6, read_pressure},
	{"meminfo", "memory in use", "B", "MemUsedMB", QUANTITY_LEVEL, 1024, read_memory},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct sensor {
	unsigned n;
	unsigned kind[N_KINDS];
	struct sensor_channel channel[N_KINDS];
	struct sensor_count count[N_KINDS];
	struct sensor_text text[N_KINDS];
	char path[N_KINDS][PATH_MAX];
};

/* The digits behind word, which begins a line unless it is in one. */
static int number_behind(const char *text, const char *word, uint64_t *v)
{
	const char *at = strstr(text, word);
	char digits[24];
	size_t len;

	if (!at)
		return -ENODATA;
	at += strlen(word);
	at += strspn(at, " \t");
	len = strspn(at, "0123456789");
	if (len >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, at, len);
	digits[len] = '\0';
	return parse_u64(digits, v);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", then a line "full". */
static int read_pressure(struct sensor_text *text, uint64_t *us)
{
	int err = sensor_text__read(text);

	if (err)
		return err;
	text->buf[strcspn(text->buf, "\n")] = '\0';
	return str__starts(text->buf, "some ") ? number_behind(text->buf, " total=", us) : -ENODATA;
}

static int read_memory(struct sensor_text *text, uint64_t *kib)
{
	int err = sensor_text__read(text);
	uint64_t total, available;

	if (err)
		return err;
	if (!str__starts(text->buf, "MemTotal:") || number_behind(text->buf, "MemTotal:", &total) ||
	    number_behind(text->buf, "\nMemAvailable:", &available) || available > total)
		return -ENODATA;
	*kib = total - available;
	return 0;
}

/* Where the kernel has none, or it is switched off (psi=0), it is no channel. */
static void add_kind(struct sensor *s, const struct sensor_roots *roots, unsigned kind)
{
	struct sensor_channel *c = &s->channel[s->n];
	struct sensor_text *text = &s->text[s->n];
	uint64_t v;
	int err = -ENOENT;

	*text = (struct sensor_text){.path = s->path[s->n], .fd = -1};
	if (snprintf(s->path[s->n], PATH_MAX, "%s/%s", roots->proc, kinds[kind].file) < PATH_MAX)
		err = kinds[kind].read(text, &v);
	if (err && err != -EACCES && err != -EPERM) {
		sensor_text__free(text);
		return;
	}
	*c = sensor__channel(kinds[kind].name);
	snprintf(c->unit, sizeof(c->unit), "%s", kinds[kind].unit);
	snprintf(c->series, sizeof(c->series), "CPU");
	snprintf(c->column, sizeof(c->column), "%s", kinds[kind].column);
	c->part = PART_NODE;
	c->quantity = kinds[kind].quantity;
	c->step = kinds[kind].scale;
	s->kind[s->n++] = kind;
}

static void node_close(struct sensor *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		sensor_text__free(&s->text[i]);
	free(s);
}

static int node_open(struct sensor **out, const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (unsigned kind = 0; kind < N_KINDS; kind++)
		add_kind(s, roots, kind);
	if (!s->n) {
		node_close(s);
		return -ENOENT;
	}
	*out = s;
	return 0;
}

static int node_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	struct sensor *s = NULL;
	int err = node_open(&s, roots);
	size_t at = 0;

	if (err)
		snprintf(why, len, "no %s/pressure, and no memory in %s/meminfo", roots->proc,
			 roots->proc);
	for (unsigned i = 0; !err && i < s->n && at < len; i++)
		at += (size_t)snprintf(why + at, len - at, "%s%s", i ? ", " : "",
				       kinds[s->kind[i]].file);
	node_close(s);
	return err;
}

static unsigned node_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static int node_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct sensor_value *v = &values[i];
		double scale = kinds[s->kind[i]].scale;
		uint64_t raw = 0;
		int err = kinds[s->kind[i]].read(&s->text[i], &raw);

		if (err) {
			*v = sensor__no_value(sensor__quality_of(err));
			s->count[i].away = true;
		} else if (s->channel[i].quantity == QUANTITY_COUNT) {
			v->quality = sensor_count__add(&s->count[i], raw, scale, &v->value);
		} else {
			v->quality = READING_GOOD;
			v->value = (double)raw * scale;
		}
		v->time_ns = clock__boot_ns();
	}
	return sensor__any_value(values, s->n);
}

const struct sensor_ops sensor_node = {
	.name = "node",
	.doc = "pressure (PSI) and memory of the whole node",
	.probe = node_probe,
	.open = node_open,
	.channels = node_channels,
	.read = node_read,
	.close = node_close,
};
