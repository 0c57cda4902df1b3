// SPDX-License-Identifier: GPL-2.0-or-later
/* Channels that are one small file each, and the totals of counters since the first reading. */
#include "sensor/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "base/str.h"
#include "sensor/core/text.h"

enum sensor_quality sensor_count__add(struct sensor_count *c, uint64_t raw, double unit,
				      double *total)
{
	bool gap = c->started && (c->away || raw < c->last);

	if (c->started && !gap)
		c->total += (double)(raw - c->last) * unit;
	c->started = true;
	c->away = false;
	c->last = raw;
	*total = c->total;
	return gap ? READING_GAP : READING_GOOD;
}

struct sensor_value sensor_count__value(struct sensor_count *c, enum sensor_quantity quantity,
					int err, int64_t raw, double unit)
{
	struct sensor_value v = {.value = (double)raw * unit, .quality = READING_GOOD};

	if (err) {
		v = sensor__no_value(sensor__quality_of(err));
		c->away = true;
	} else if (quantity == QUANTITY_ENERGY || quantity == QUANTITY_COUNT) {
		v.quality = sensor_count__add(c, (uint64_t)raw, unit, &v.value);
	}
	v.time_ns = clock__boot_ns();
	return v;
}

struct sensor_channel sensor__channel(const char *name)
{
	struct sensor_channel c = {
		.part = PART_OTHER,
		.quantity = QUANTITY_LEVEL,
		.index = -1,
		.cpu = -1,
		.step = NAN,
		.error = NAN,
	};

	snprintf(c.name, sizeof(c.name), "%s", name);
	return c;
}

int sensor_files__add(struct sensor_files *f, const struct sensor_channel *c, const char *path,
		      double unit)
{
	size_t room = f->room;
	int err = f->n == SENSOR_FILES_MAX ? -E2BIG : 0;

	if (!err)
		err = room__make(&f->channel, &room, f->n + 1u, sizeof(*f->channel));
	if (!err)
		err = room__make(&f->file, &f->room, f->n + 1u, sizeof(*f->file));
	if (err)
		return err;
	f->channel[f->n] = *c;
	f->file[f->n] = (struct sensor_file){.path = strdup(path), .unit = unit};
	if (!f->file[f->n].path)
		return -ENOMEM;
	f->n++;
	return 0;
}

unsigned sensor_files__readable(const struct sensor_files *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += !faccessat(AT_FDCWD, f->file[i].path, R_OK, AT_EACCESS);
	return n;
}

enum sensor_quality sensor__quality_of(int err)
{
	return err == -EACCES || err == -EPERM ? READING_DENIED : READING_NONE;
}

void sensor_files__read(struct sensor_files *f, unsigned i, struct sensor_value *v, char *rest,
			size_t restlen)
{
	struct sensor_file *file = &f->file[i];
	char buf[128];
	const char *behind = buf;
	uint64_t raw = 0;
	ssize_t n = read_file(AT_FDCWD, file->path, buf, sizeof(buf));
	bool is_number = n > 0 && *buf != ' ' && text__u64(&behind, &raw);
	int err = n < 0 ? (int)n : is_number ? 0 : -EINVAL;

	if (rest)
		snprintf(rest, restlen, "%s", err ? "" : behind);
	*v = sensor_count__value(&file->count, f->channel[i].quantity, err, (int64_t)raw,
				 file->unit);
}

unsigned sensor_files__channels(const struct sensor *s, const struct sensor_channel **out)
{
	const struct sensor_files *f = (const struct sensor_files *)s;

	*out = f->channel;
	return f->n;
}

void sensor_files__free(struct sensor_files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->file[i].path);
	free(f->file);
	free(f->channel);
	*f = (struct sensor_files){0};
}

int sensor__any_value(const struct sensor_value *v, unsigned n)
{
	unsigned denied = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!isnan(v[i].value))
			return 0;
		denied += v[i].quality == READING_DENIED;
	}
	return n && denied == n ? -EACCES : -ENODATA;
}
