/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources whose channels are small files of one number each: hwmon, pm_counters. Files are opened
 * for each reading, so that a driver which was unloaded and came back is noticed.
 */
#ifndef JP_SENSOR_CORE_FILE_H
#define JP_SENSOR_CORE_FILE_H

#include "sensor/core/sensor.h"

/* A counter of energy or events: makes a total since the source was opened from the hardware's
 * count.
 */
struct sensor_count {
	uint64_t last;
	double total;
	bool started;
	bool away; /* the counter has had no value since the last reading */
};

/* Adds a reading; one count stands for unit. *total becomes the total. READING_GAP: the counter
 * jumped back or was away, and nothing was added. */
enum sensor_quality sensor_count__add(struct sensor_count *c, uint64_t raw, double unit,
				      double *total);

/* The value of a channel of that quantity now: raw x unit, or for energy and counts the total since
 * the first reading. err: not 0 where there was no reading. */
struct sensor_value sensor_count__value(struct sensor_count *c, enum sensor_quantity quantity,
					int err, int64_t raw, double unit);

struct sensor_file {
	char *path;  /* owned */
	double unit; /* the number 1 of the file in the channel's unit */
	struct sensor_count count;
};

/* Begins zeroed. channel[i] is read from file[i]. */
struct sensor_files {
	struct sensor_channel *channel;
	struct sensor_file *file;
	unsigned n;
	size_t room;
};

#define SENSOR_FILES_MAX 4096

/* A channel with a name and defaults: "", PART_OTHER, -1, NAN. */
struct sensor_channel sensor__channel(const char *name);
/* Adds a file and its channel, copies of both. 0, -ENOMEM; -E2BIG: there are SENSOR_FILES_MAX. */
int sensor_files__add(struct sensor_files *f, const struct sensor_channel *c, const char *path,
		      double unit);
/* How many of the files may be read. */
unsigned sensor_files__readable(const struct sensor_files *f);
/*
 * Reads file i: a number, and after a blank any text, which is copied to rest[restlen] ("" if there
 * is none; rest may be NULL). Sets value, quality, and the time to now. Energy and counts are since
 * the first reading.
 */
void sensor_files__read(struct sensor_files *f, unsigned i, struct sensor_value *v, char *rest,
			size_t restlen);
/* sensor_ops.channels of a struct sensor that begins with a struct sensor_files. */
unsigned sensor_files__channels(const struct sensor *s, const struct sensor_channel **out);
void sensor_files__free(struct sensor_files *f); /* what it owns, not *f itself */

/* What an error of a file, device or call means for a reading. */
enum sensor_quality sensor__quality_of(int err);
/* What sensor_ops.read returns for v[n]: 0 if one has a value, else -EACCES if all were denied,
 * else -ENODATA. */
int sensor__any_value(const struct sensor_value *v, unsigned n);

#endif
