// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices with counters: their tables and channels, and the sums of their counters. */
#include "sensor/core/counter_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/room.h"
#include "base/str.h"
#include "sensor/core/file.h"
#include "sensor/core/text.h"

/* A counter that passed its range has moved by less than this part of the range since the last
 * reading; a larger move is a jump back. */
#define WRAP_PART 256

/* FNV-1a of 32 bits: makes names unique that are cut or in use, equally on all nodes. */
static uint32_t hash_name(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("._+-", c);
}

static void add_hash(char out[COUNTER_SET_TABLE], const char *name)
{
	size_t len = strnlen(out, COUNTER_SET_TABLE - 10);

	snprintf(out + len, COUNTER_SET_TABLE - len, "~%08x", hash_name(name));
}

void counter_set__table_name(char out[COUNTER_SET_TABLE], const char *name)
{
	const char *from = name + strspn(name, "/");
	bool exact = true;
	size_t len = 0;

	for (; *from && len < COUNTER_SET_TABLE - 1; from++) {
		bool plain = is_plain(*from) || *from == '/';

		out[len++] = *from == '/' ? '-' : plain ? *from : '_';
		exact &= plain;
	}
	out[len] = '\0';
	if (!len)
		snprintf(out, COUNTER_SET_TABLE, "root");
	/* a number would be the name of a task, and a dot at the beginning hides a file */
	if (*from || !exact || out[0] == '.' || (len && strspn(out, "0123456789") == len))
		add_hash(out, name);
	if (out[0] == '.')
		out[0] = '_';
}

static bool name_taken(const struct counter_set *c, const char *table)
{
	for (unsigned i = 0; i < c->ndevices; i++)
		if (!strcmp(c->device[i].table, table))
			return true;
	return false;
}

int counter_set__add_device(struct counter_set *c, const char *name, const char *about)
{
	struct counter_device d = {.first = c->ncounters, .channel = c->nchannels};
	char again[COUNTER_SET_TABLE];

	if (c->ndevices == COUNTER_SET_DEVICES) {
		c->left_out++;
		return -ENOSPC;
	}
	counter_set__table_name(d.table, name);
	if (name_taken(c, d.table) && !strchr(d.table, '~'))
		add_hash(d.table, name);
	/* equal names get a number */
	for (unsigned i = 2; name_taken(c, d.table); i++) {
		snprintf(again, sizeof(again), "%u~%.20s", i, d.table);
		memcpy(d.table, again, sizeof(again));
	}
	snprintf(d.about, sizeof(d.about), "%s", about ? about : "");
	if (room__make(&c->device, &c->device_room, c->ndevices + 1u, sizeof(d)))
		return -ENOMEM;
	c->device[c->ndevices++] = d;
	return 0;
}

int counter_set__add_channel(struct counter_set *c, const char *column, const char *unit,
			     unsigned *out)
{
	struct counter_device *d = &c->device[c->ndevices - 1];
	size_t len = strlen(column);
	char name[SENSOR_NAME];
	struct sensor_channel ch;

	/* the column is in MB, the channel in B */
	if (!strcmp(unit, "B") && len > 2 && !strcmp(column + len - 2, "MB"))
		len -= 2;
	snprintf(name, sizeof(name), "%.31s %.*s", d->table, (int)(len < 15 ? len : 15), column);
	ch = sensor__channel(name);
	snprintf(ch.unit, sizeof(ch.unit), "%s", unit);
	snprintf(ch.series, sizeof(ch.series), "%.16s/%s", c->series, d->table);
	snprintf(ch.column, sizeof(ch.column), "%s", column);
	memcpy(ch.about, d->about, sizeof(ch.about));
	ch.part = c->part;
	ch.quantity = QUANTITY_COUNT;
	if (room__make(&c->channel, &c->channel_room, c->nchannels + 1u, sizeof(ch)))
		return -ENOMEM;
	c->channel[c->nchannels] = ch;
	*out = c->nchannels++;
	d->k++;
	return 0;
}

int counter_set__add_counter(struct counter_set *c, const struct counter *counter)
{
	struct sensor_channel *ch = &c->channel[counter->channel];
	struct counter t = *counter;

	if (room__make(&c->counter, &c->counter_room, c->ncounters + 1u, sizeof(t)))
		return -ENOMEM;
	if (t.path) {
		t.path = strdup(t.path);
		if (!t.path)
			return -ENOMEM;
	}
	c->counter[c->ncounters++] = t;
	c->device[c->ndevices - 1].n++;
	if (isnan(ch->step) || t.unit < ch->step)
		ch->step = t.unit;
	return 0;
}

/* Adds the file to its column; the first file creates the column's channel. */
static int add_file(struct counter_set *c, const struct counter_file *row, const char *path,
		    int *channel)
{
	struct counter t = {
		.path = (char *)path, /* copied */
		.unit = row->scale,
		.range = row->range,
		.top = row->top,
	};
	int err = 0;

	if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS))
		return 0;
	if (*channel < 0) {
		err = counter_set__add_channel(c, row->column, row->unit, &t.channel);
		if (err)
			return err;
		*channel = (int)t.channel;
	}
	t.channel = (unsigned)*channel;
	return counter_set__add_counter(c, &t);
}

/* Adds all files of a row. *channel stays -1 if there are none. */
static int add_row(struct counter_set *c, const char *dir, const struct counter_file *row,
		   int *channel)
{
	const char *name = row->files;
	int err = 0;

	while (*name && !err) {
		size_t len = strcspn(name, "+"), before = strcspn(name, "#");
		bool several = before < len;

		for (unsigned i = 0; i < (several ? 8 : 1) && !err; i++) {
			char path[512];
			int n;

			if (several)
				n = snprintf(path, sizeof(path), "%s/%.*s%u%.*s", dir, (int)before,
					     name, i, (int)(len - before - 1), name + before + 1);
			else
				n = snprintf(path, sizeof(path), "%s/%.*s", dir, (int)len, name);
			if (n < (int)sizeof(path))
				err = add_file(c, row, path, channel);
		}
		name += len + (name[len] == '+');
	}
	return err;
}

int counter_set__add_files(struct counter_set *c, const char *dir, const struct counter_file *row,
			   unsigned n)
{
	int err = 0, channel = -1;

	for (unsigned i = 0; i < n && !err; i++) {
		if (i && strcmp(row[i].column, row[i - 1].column) != 0)
			channel = -1;
		if (channel < 0)
			err = add_row(c, dir, &row[i], &channel);
	}
	return err;
}

static void read_one(struct counter *t)
{
	char buf[128], *end;
	const char *at = buf;
	ssize_t n = read_file(AT_FDCWD, t->path, buf, sizeof(buf));

	if (n < 0) {
		t->err = (int)n;
		return;
	}
	end = strchr(buf, '@');
	if (end)
		*end = '\0';
	t->err = text__u64(&at, &t->raw) ? 0 : -EINVAL;
}

void counter_set__read_files(struct counter_set *c, unsigned device)
{
	const struct counter_device *d = &c->device[device];

	for (unsigned i = d->first; i < d->first + d->n; i++)
		read_one(&c->counter[i]);
}

void counter_set__set_err(struct counter_set *c, unsigned device, int err)
{
	const struct counter_device *d = &c->device[device];

	for (unsigned i = d->first; i < d->first + d->n; i++)
		c->counter[i].err = err;
}

/* Computes how far a counter moved, also past the end of its range. False: it jumped back. */
static bool moved(const struct counter *t, uint64_t *by)
{
	*by = t->raw - t->last;
	if (t->full && t->raw < t->top)
		return false;
	if (t->raw >= t->last)
		return true;
	*by += t->range;
	return t->range && t->last < t->range && *by < t->range / WRAP_PART;
}

static bool is_full(const struct counter *t)
{
	return t->top && t->raw == t->top;
}

/* Whether a counter shows that the device was reset or is another one. */
static bool jumped(const struct counter *t)
{
	uint64_t by;

	return t->started && !t->err && !is_full(t) && !moved(t, &by);
}

static enum sensor_quality take_one(struct counter *t, bool gap)
{
	uint64_t by;

	if (t->err) {
		t->away = true;
		return sensor__quality_of(t->err);
	}
	if (is_full(t)) {
		t->full = true;
		return READING_NONE;
	}
	gap = t->started ? gap || t->away || !moved(t, &by) : t->full;
	if (t->started && !gap)
		t->total += (double)by * t->unit;
	t->started = true;
	t->full = t->away = false;
	t->last = t->raw;
	return gap ? READING_GAP : READING_GOOD;
}

/* Adds a part to a sum, whose quality is the worst of its parts'. */
static void add_part(struct sensor_value *v, enum sensor_quality q, double total)
{
	if (v->quality == READING_DENIED || v->quality == READING_NONE)
		return;
	if (q == READING_DENIED || q == READING_NONE) {
		v->value = NAN;
		v->quality = q;
		return;
	}
	v->value += total;
	if (q == READING_GAP)
		v->quality = q;
}

void counter_set__take(struct counter_set *c, unsigned device, uint64_t time_ns,
		       struct sensor_value *values)
{
	const struct counter_device *d = &c->device[device];
	bool back = false;

	for (unsigned i = d->channel; i < d->channel + d->k; i++)
		values[i] = sensor__no_value(READING_NONE);
	for (unsigned i = d->first; i < d->first + d->n; i++) {
		back |= jumped(&c->counter[i]);
		values[c->counter[i].channel] =
			(struct sensor_value){.quality = READING_GOOD, .time_ns = time_ns};
	}
	for (unsigned i = d->first; i < d->first + d->n; i++) {
		struct counter *t = &c->counter[i];
		enum sensor_quality q = take_one(t, back);

		add_part(&values[t->channel], q, t->total);
	}
}

static int no_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

int sensor__each_entry(const char *dir, int (*fn)(void *arg, const char *dir, const char *name),
		       void *arg)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, no_dots, compare_names), err = n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		if (!err)
			err = fn(arg, dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return err == -ENOTDIR ? -ENOENT : err;
}

unsigned counter_set__channels(const struct sensor *s, const struct sensor_channel **out)
{
	const struct counter_set *c = (const struct counter_set *)s;

	*out = c->channel;
	return c->nchannels;
}

void counter_set__free(struct counter_set *c)
{
	for (unsigned i = 0; i < c->ncounters; i++)
		free(c->counter[i].path);
	free(c->counter);
	free(c->channel);
	free(c->device);
	*c = (struct counter_set){.series = c->series, .part = c->part};
}
