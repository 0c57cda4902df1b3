// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whole disks that have a device. Partitions are part of them; what is put together of disks (dm,
 * md, multipath) or of files and memory (loop, ram, zram) passes on what others count, or is none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sensor/core/proc_table.h"

struct sensor {
	struct proc_table table;
};

#define SECTOR	 512.0
#define MS	 1e-3
#define MS_RANGE (1ull << 32) /* times are printed modulo that */

/* Numbers of a line of /proc/diskstats behind the name. */
static const struct proc_table_column columns[] = {
	{"Reads", "", 0, 1, 0},
	{"ReadMB", "B", 2, SECTOR, 0},
	{"Writes", "", 4, 1, 0},
	{"WriteMB", "B", 6, SECTOR, 0},
	{"ReadTime", "s", 3, MS, MS_RANGE},
	{"WriteTime", "s", 7, MS, MS_RANGE},
	{"BusyTime", "s", 9, MS, MS_RANGE},
	{"QueueTime", "s", 10, MS, MS_RANGE},
	{"Discards", "", 11, 1, 0},
	{"DiscardMB", "B", 13, SECTOR, 0},
	{"Flushes", "", 15, 1, 0},
};

static bool is_counted(const char *dir, const char *name)
{
	bool removable = str__starts(name, "sr") || str__starts(name, "fd");

	return !removable && proc_table__has(dir, name, "device");
}

/* "   8       0 sda 123 4 ..." */
static const char *split_line(const char *line, size_t len, const char **name, size_t *name_len)
{
	uint64_t number; /* major, minor */

	for (unsigned i = 0; i < 2; i++)
		if (!text__u64(&line, &number))
			return NULL;
	*name = line + strspn(line, " ");
	*name_len = strcspn(*name, " \n");
	return *name + *name_len;
}

static const struct proc_table_format format = {
	.series = "Disk",
	.part = PART_DISK,
	.class = "block",
	.file = "diskstats",
	.is_counted = is_counted,
	.split = split_line,
	.column = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
};

static void disks_close(struct sensor *s)
{
	if (!s)
		return;
	proc_table__close(&s->table);
	free(s);
}

static int disks_open(struct sensor **out, const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, sizeof(*s));
	int err = s ? proc_table__open(&s->table, &format, roots) : -ENOMEM;

	if (err) {
		disks_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static int disks_probe(const struct sensor_roots *roots, char *why, size_t len)
{
	struct sensor *s = NULL;
	int err = disks_open(&s, roots);

	if (err == -ENOENT)
		snprintf(why, len, "no disk with a device in %s/block", roots->sys);
	else if (err)
		snprintf(why, len, "%s/diskstats: %s", roots->proc, strerror(-err));
	else
		snprintf(why, len, "%u with a device in %s/block%s", s->table.c.ndevices,
			 roots->sys, s->table.c.left_out ? ", more are left out" : "");
	disks_close(s);
	return err;
}

static unsigned disks_channels(const struct sensor *s, const struct sensor_channel **out)
{
	*out = s->table.c.channel;
	return s->table.c.nchannels;
}

static int disks_read(struct sensor *s, struct sensor_value *values)
{
	return proc_table__read(&s->table, values);
}

const struct sensor_ops sensor_disks = {
	.name = "disks",
	.doc = "local disks, whole ones",
	.probe = disks_probe,
	.open = disks_open,
	.channels = disks_channels,
	.read = disks_read,
	.close = disks_close,
};
