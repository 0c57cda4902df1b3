/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources whose devices are directories of one class in sysfs, and whose counters are one file of
 * procfs with a line per device: network interfaces, disks. One read of one file for all of them.
 */
#ifndef JP_SENSOR_CORE_PROC_TABLE_H
#define JP_SENSOR_CORE_PROC_TABLE_H

#include "sensor/core/counter_set.h"
#include "sensor/core/text.h"

#define PROC_TABLE_NAME	  64
#define PROC_TABLE_FIELDS 24

struct proc_table_column {
	const char *column;
	const char *unit;
	unsigned field; /* the number of the line's numbers that it is */
	double scale;	/* as counter.unit and range */
	uint64_t range;
};

struct proc_table_format {
	const char *series;
	enum sensor_part part;
	const char *class; /* directory below sys: "class/net" */
	const char *file;  /* below proc: "net/dev" */
	/* Whether the directory DIR/NAME is a device that is counted. */
	bool (*is_counted)(const char *dir, const char *name);
	/* The name in a line, which ends at line[len], and where its numbers begin; NULL: it is of
	 * no device. */
	const char *(*split)(const char *line, size_t len, const char **name, size_t *name_len);
	const struct proc_table_column *column;
	unsigned n;
};

struct proc_table {
	const struct proc_table_format *format;
	struct counter_set c;
	char (*name)[PROC_TABLE_NAME]; /* of each device, as in the file */
	bool *seen;		       /* in the reading that goes on */
	struct sensor_text text;
	char *path;
};

/* Finds the devices there are, and those of their columns that their line has. s is
 * zero-initialised, and to be closed in any case. 0, -ENOENT: none, or no such file; -errno. */
int proc_table__open(struct proc_table *s, const struct proc_table_format *format,
		     const struct sensor_roots *roots);
int proc_table__read(struct proc_table *s, struct sensor_value *values); /* as sensor_ops.read */
void proc_table__close(struct proc_table *s); /* frees what it owns, not *s itself */

/* Whether there is a DIR/NAME/WHAT. */
bool proc_table__has(const char *dir, const char *name, const char *what);

#endif
