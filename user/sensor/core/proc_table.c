// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices that are lines of one file in /proc. */
#include "sensor/core/proc_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/room.h"
#include "sensor/core/file.h"

bool proc_table__has(const char *dir, const char *name, const char *file)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file) < (int)sizeof(path) &&
	       !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

/* Returns the device of a line and its *n numbers; -1: the line's device is not in the table. */
static int parse_line(const struct proc_table *s, const char *line, size_t len,
		      uint64_t numbers[PROC_TABLE_FIELDS], unsigned *n)
{
	const char *name, *from;
	size_t name_len;

	from = s->format->split(line, len, &name, &name_len);
	if (!from || name_len >= PROC_TABLE_NAME)
		return -1;
	for (unsigned i = 0; i < s->c.ndevices; i++) {
		if (memcmp(s->name[i], name, name_len) != 0 || s->name[i][name_len])
			continue;
		*n = text__numbers(from, numbers, PROC_TABLE_FIELDS);
		return (int)i;
	}
	return -1;
}

/* The count of numbers in a device's line: newer kernels print more. */
static unsigned numbers_of(const struct proc_table *s, const char *wanted)
{
	const char *at = s->text.buf, *line, *name, *from;
	uint64_t numbers[PROC_TABLE_FIELDS];
	size_t len, name_len;

	while ((line = text__line(&at, &len))) {
		from = s->format->split(line, len, &name, &name_len);
		if (from && strlen(wanted) == name_len && !memcmp(wanted, name, name_len))
			return text__numbers(from, numbers, PROC_TABLE_FIELDS);
	}
	return 0;
}

static int add_columns(struct proc_table *s, unsigned there)
{
	int err = 0;

	for (unsigned i = 0; i < s->format->n && !err; i++) {
		const struct proc_table_column *col = &s->format->column[i];
		struct counter t = {.unit = col->scale, .range = col->range, .field = col->field};

		if (col->field >= there)
			continue;
		err = counter_set__add_channel(&s->c, col->column, col->unit, &t.channel);
		if (!err)
			err = counter_set__add_counter(&s->c, &t);
	}
	return err;
}

/* Writes the name as in the file: the directory "cciss!c0d0" is of the device "cciss/c0d0". */
static void name_in_file(char out[PROC_TABLE_NAME], const char *dir)
{
	char *bang;

	snprintf(out, PROC_TABLE_NAME, "%.*s", PROC_TABLE_NAME - 1, dir);
	while ((bang = strchr(out, '!')))
		*bang = '/';
}

/* Adds a device, unless the file has no line on it. */
static int add_device(void *arg, const char *dir, const char *entry)
{
	struct proc_table *s = arg;
	char name[PROC_TABLE_NAME];
	unsigned there;
	int err;

	if (strlen(entry) >= PROC_TABLE_NAME || !s->format->is_counted(dir, entry))
		return 0;
	name_in_file(name, entry);
	there = numbers_of(s, name);
	if (!there)
		return 0;
	err = counter_set__add_device(&s->c, name, NULL);
	if (err)
		return err == -ENOSPC ? 0 : err;
	if (room__grow(&s->name, s->c.ndevices - 1u, 1, sizeof(*s->name)))
		return -ENOMEM;
	memcpy(s->name[s->c.ndevices - 1], name, PROC_TABLE_NAME);
	return add_columns(s, there);
}

int proc_table__open(struct sensor *sensor, const struct proc_table_format *format,
		     const struct sensor_roots *roots)
{
	struct proc_table *s = (struct proc_table *)sensor;
	char dir[PATH_MAX];
	int err;

	s->format = format;
	s->c = (struct counter_set){.series = format->series, .part = format->part};
	s->text.fd = -1;
	if (snprintf(dir, sizeof(dir), "%s/%s", roots->sys, format->class) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	if (asprintf(&s->path, "%s/%s", roots->proc, format->file) < 0) {
		s->path = NULL;
		return -ENOMEM;
	}
	s->text.path = s->path;
	err = sensor_text__read(&s->text);
	if (!err)
		err = sensor__each_entry(dir, add_device, s);
	if (err)
		return err;
	s->seen = calloc(s->c.ndevices + 1, sizeof(*s->seen));
	return !s->seen ? -ENOMEM : s->c.ndevices ? 0 : -ENOENT;
}

static void take_line(struct proc_table *s, const char *line, size_t len, uint64_t now,
		      struct sensor_value *values)
{
	uint64_t numbers[PROC_TABLE_FIELDS];
	unsigned n;
	int i = parse_line(s, line, len, numbers, &n);
	const struct counter_device *d;

	if (i < 0 || s->seen[i])
		return;
	d = &s->c.device[i];
	for (unsigned k = d->first; k < d->first + d->n; k++) {
		struct counter *t = &s->c.counter[k];

		t->err = t->field < n ? 0 : -ENODATA;
		t->raw = t->err ? 0 : numbers[t->field];
	}
	counter_set__take(&s->c, (unsigned)i, now, values);
	s->seen[i] = true;
}

int proc_table__read(struct sensor *sensor, struct sensor_value *values)
{
	struct proc_table *s = (struct proc_table *)sensor;
	int err = sensor_text__read(&s->text);
	const char *at = s->text.buf, *line;
	uint64_t now = clock__boot_ns();
	size_t len;

	memset(s->seen, 0, s->c.ndevices * sizeof(*s->seen));
	while (!err && (line = text__line(&at, &len)))
		take_line(s, line, len, now, values);
	for (unsigned i = 0; i < s->c.ndevices; i++) {
		if (s->seen[i])
			continue;
		counter_set__set_err(&s->c, i, err ? err : -ENODEV);
		counter_set__take(&s->c, i, now, values);
	}
	return err ? err : sensor__any_value(values, s->c.nchannels);
}

void proc_table__describe(const struct sensor *sensor, const struct sensor_roots *roots, int err,
			  char *text, size_t len)
{
	const struct proc_table *s = (const struct proc_table *)sensor;
	const struct proc_table_format *f = s->format;

	if (err == -ENOENT)
		snprintf(text, len, "no %s with a device in %s/%s", f->noun, roots->sys, f->class);
	else if (err)
		snprintf(text, len, "%s/%s: %s", roots->proc, f->file, strerror(-err));
	else
		snprintf(text, len, "%u with a device in %s/%s%s", s->c.ndevices, roots->sys,
			 f->class, s->c.left_out ? ", more are left out" : "");
}

unsigned proc_table__channels(const struct sensor *sensor, const struct sensor_channel **out)
{
	const struct proc_table *s = (const struct proc_table *)sensor;

	*out = s->c.channel;
	return s->c.nchannels;
}

void proc_table__close(struct sensor *sensor)
{
	struct proc_table *s = (struct proc_table *)sensor;

	sensor_text__free(&s->text);
	counter_set__free(&s->c);
	free(s->name);
	free(s->seen);
	free(s->path);
}
