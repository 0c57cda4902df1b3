/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources whose devices are directories of one class in sysfs, and whose counters are one file of
 * procfs with a line per device: network interfaces, disks. One file is read once for all of them.
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
	unsigned field; /* index of the number in the line, from 0 */
	double scale;	/* as counter.unit and range */
	uint64_t range;
};

struct proc_table_format {
	const char *noun; /* what a device is called: "disk" */
	const char *series;
	enum sensor_part part;
	const char *class; /* directory below sys: "class/net" */
	const char *file;  /* below proc: "net/dev" */
	/* Whether the directory DIR/NAME is a device that is counted. */
	bool (*is_counted)(const char *dir, const char *name);
	/* Finds the name in a line, which ends at line[len]. Returns where the numbers begin; NULL:
	 * the line has no device. */
	const char *(*split)(const char *line, size_t len, const char **name, size_t *name_len);
	const struct proc_table_column *column;
	unsigned n;
};

struct proc_table {
	const struct proc_table_format *format;
	struct counter_set c;
	char (*name)[PROC_TABLE_NAME]; /* of each device, as in the file */
	bool *seen;		       /* per device: it was in the current reading */
	struct sensor_text text;
	char *path;
};

/* Finds the devices, and for each one the columns of its line: sensor_ops.open calls this with s
 * and a format. The functions below are for a struct sensor_ops whose struct sensor is a struct
 * proc_table. */
int proc_table__open(struct sensor *s, const struct proc_table_format *format,
		     const struct sensor_roots *roots);
void proc_table__describe(const struct sensor *s, const struct sensor_roots *roots, int err,
			  char *text, size_t len);
unsigned proc_table__channels(const struct sensor *s, const struct sensor_channel **out);
int proc_table__read(struct sensor *s, struct sensor_value *values);
void proc_table__close(struct sensor *s);
/* Whether there is a DIR/NAME/FILE. */
bool proc_table__has(const char *dir, const char *name, const char *file);

#endif
