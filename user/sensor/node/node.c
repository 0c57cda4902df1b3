// SPDX-License-Identifier: GPL-2.0-or-later
/* Pressure, memory and idle CPUs of the whole node. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sensor/node/cpu.h"
#include "sensor/core/file.h"
#include "sensor/core/text.h"

#define TICKS 100 /* per second in /proc/stat: USER_HZ of Linux */

/* Reads a number from a file. */
typedef int (*read_fn)(struct sensor_text *text, uint64_t *v);

static int read_pressure(struct sensor_text *text, uint64_t *us);
static int read_memory(struct sensor_text *text, uint64_t *kib);
static int read_idle(struct sensor_text *text, uint64_t *ticks);
static int read_stolen(struct sensor_text *text, uint64_t *ticks);

static const struct {
	const char *file, *name, *unit, *column;
	enum sensor_quantity quantity;
	double scale; /* from the file's number to the unit */
	read_fn read;
} kinds[] = {
	{"pressure/cpu", "waits for CPU", "s", "PSICpu", QUANTITY_COUNT, 1e-6, read_pressure},
	{"pressure/memory", "waits for memory", "s", "PSIMem", QUANTITY_COUNT, 1e-6, read_pressure},
	{"pressure/io", "waits for I/O", "s", "PSIIO", QUANTITY_COUNT, 1e-6, read_pressure},
	{"stat", "idle CPUs", "s", "IdleTime", QUANTITY_COUNT, 1.0 / TICKS, read_idle},
	{"stat", "stolen CPUs", "s", "StolenTime", QUANTITY_COUNT, 1.0 / TICKS, read_stolen},
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

/* Reads the number after word in the text. 0; -ENODATA: the text lacks word; -EINVAL, -ERANGE. */
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

/* Reads the total of "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", which is followed by a
 * line "full". */
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

/* Reads the fields of the first line, "cpu": user, nice, system, idle, iowait, irq, softirq and
 * steal. 0; -ENODATA, or an error of the file. */
static int read_ticks(struct sensor_text *text, uint64_t ticks[static 8])
{
	int err = sensor_text__read(text);

	if (err)
		return err;
	return sscanf(text->buf,
		      "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		      " %" SCNu64 " %" SCNu64,
		      &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
		      &ticks[7]) == 8
		       ? 0
		       : -ENODATA;
}

static int read_idle(struct sensor_text *text, uint64_t *ticks)
{
	uint64_t all[8];
	int err = read_ticks(text, all);

	if (!err)
		*ticks = all[3] + all[4];
	return err;
}

static int read_stolen(struct sensor_text *text, uint64_t *ticks)
{
	uint64_t all[8];
	int err = read_ticks(text, all);

	if (!err)
		*ticks = all[7];
	return err;
}

/* Adds the channel of a kind, unless the kernel lacks it or it is switched off (psi=0). */
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
	for (unsigned i = 0; i < s->n; i++)
		sensor_text__free(&s->text[i]);
}

static int node_open(struct sensor *s, const struct sensor_ops *ops,
		     const struct sensor_roots *roots)
{
	for (unsigned kind = 0; kind < N_KINDS; kind++)
		add_kind(s, roots, kind);
	return s->n ? 0 : -ENOENT;
}

static void node_describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			  char *text, size_t len)
{
	size_t at = 0;

	if (err)
		snprintf(text, len, "no %s/pressure, %s/stat, and no memory in %s/meminfo",
			 roots->proc, roots->proc, roots->proc);
	for (unsigned i = 0; !err && i < s->n && at < len; i++)
		if (!i || strcmp(s->path[i], s->path[i - 1]))
			at += (size_t)snprintf(text + at, len - at, "%s%s", i ? ", " : "",
					       kinds[s->kind[i]].file);
}

static unsigned node_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->channel;
	return s->n;
}

static int node_read(struct sensor *s, struct sensor_value *values)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t raw = 0;
		int err = kinds[s->kind[i]].read(&s->text[i], &raw);

		values[i] = sensor_count__value(&s->count[i], s->channel[i].quantity, err,
						(int64_t)raw, kinds[s->kind[i]].scale);
	}
	return sensor__any_value(values, s->n);
}

const struct sensor_ops sensor_node = {
	.name = "node",
	.doc = "pressure (PSI), memory and idle CPUs of the whole node",
	.size = sizeof(struct sensor),
	.open = node_open,
	.describe = node_describe,
	.channels = node_channels,
	.read = node_read,
	.close = node_close,
};
