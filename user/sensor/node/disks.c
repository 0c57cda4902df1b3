// SPDX-License-Identifier: GPL-2.0-or-later
/* Disks that have a device, without their partitions. Devices made of disks (dm, md, multipath) are
 * left out, since their disks count the same data; so are those made of files and memory (loop,
 * ram, zram), which are no disks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sensor/core/proc_table.h"

#define SECTOR	 512.0
#define MS	 1e-3
#define MS_RANGE (1ull << 32) /* times wrap around there */

/* Numbers after the name in a line of /proc/diskstats. */
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

/* Splits a line such as " 8 0 sda 123 4 ...". */
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
	.noun = "disk",
	.series = "Disk",
	.part = PART_DISK,
	.class = "block",
	.file = "diskstats",
	.is_counted = is_counted,
	.split = split_line,
	.column = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
};

static int disks_open(struct sensor *s, const struct sensor_ops *ops,
		      const struct sensor_roots *roots)
{
	return proc_table__open(s, &format, roots);
}

const struct sensor_ops sensor_disks = {
	.name = "disks",
	.doc = "local disks, whole ones",
	.size = sizeof(struct proc_table),
	.open = disks_open,
	.describe = proc_table__describe,
	.channels = proc_table__channels,
	.read = proc_table__read,
	.close = proc_table__close,
};
