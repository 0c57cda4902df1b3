/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sources of counters have in common: devices (a port, an interface, a mount, a disk). Each
 * device has one table in a step's file, and each column of it is a channel, the sum of one or more
 * raw counters.
 *
 * The counters of a device began together. So where one of them jumped back, the device was reset
 * or replaced, and the increase of all its counters since the last reading is unknown
 * (READING_GAP), even of those whose new count happens to be larger than the old one.
 */
#ifndef JP_SENSOR_CORE_COUNTER_SET_H
#define JP_SENSOR_CORE_COUNTER_SET_H

#include "sensor/core/sensor.h"

#define COUNTER_SET_TABLE   32	/* bytes of a table's name */
#define COUNTER_SET_DEVICES 256 /* of one source; more are left out, and counted */

/* One raw counter. The source finds it by path (owned) or by field. */
struct counter {
	unsigned channel; /* the channel to whose sum the counter belongs */
	char *path;
	unsigned field;
	double unit;	/* one count in the channel's unit */
	uint64_t range; /* the count at which it begins again at 0; 0: it has 64 bits and never does
			 */
	uint64_t top;	/* the count at which it stays when it is full; 0: it never is */
	uint64_t last;
	double total;
	bool started, full, away;
	/* The current reading, for counter_set__take(): */
	uint64_t raw;
	int err;
};

struct counter_device {
	char table[COUNTER_SET_TABLE];
	char about[SENSOR_ABOUT];
	unsigned first, n;   /* counters */
	unsigned channel, k; /* channels */
};

/* Begins zeroed. Pointers into a set are valid until something is added. */
struct counter_set {
	const char *series; /* "Port": set by the source */
	enum sensor_part part;
	struct counter_device *device;
	struct sensor_channel *channel;
	struct counter *counter;
	unsigned ndevices, nchannels, ncounters;
	size_t device_room, channel_room, counter_room;
	unsigned left_out; /* devices */
};

/* sensor_ops.channels of a struct sensor that begins with a struct counter_set. */
unsigned counter_set__channels(const struct sensor *s, const struct sensor_channel **out);
void counter_set__free(struct counter_set *c); /* what it owns, not *c itself */

/*
 * Adds a device, to which the channels and counters that are added next belong. Its table is named
 * after the device, so that the name fits a link of HDF5, is not only a number, and differs from
 * other tables. about: for people, cut if it is long, or NULL. 0; -ENOSPC: there are
 * COUNTER_SET_DEVICES, and this device was counted as left out; -ENOMEM.
 */
int counter_set__add_device(struct counter_set *c, const char *name, const char *about);
/* Adds a channel, without counters so far, to the last device: *out is its number. 0, -ENOMEM. */
int counter_set__add_channel(struct counter_set *c, const char *column, const char *unit,
			     unsigned *out);
/* Adds a counter to the last device; path is copied. 0, -ENOMEM. */
int counter_set__add_counter(struct counter_set *c, const struct counter *counter);

/*
 * A column and the files from which it is read. "+" joins files that are added up, "#" stands for 0
 * to 7; a missing file counts as 0. Of rows with the same column the first one with a file is used.
 */
struct counter_file {
	const char *column;
	const char *unit;
	const char *files; /* below the device's directory */
	double scale;	   /* as counter.unit, range and top */
	uint64_t range, top;
};
/* Adds all columns of the last device that have a file below dir. 0, -ENOMEM. */
int counter_set__add_files(struct counter_set *c, const char *dir, const struct counter_file *row,
			   unsigned n);
/* Sets raw and err of all counters of a device from their paths: "123", "123@..." */
void counter_set__read_files(struct counter_set *c, unsigned device);

/* Sets err of all counters of a device. */
void counter_set__set_err(struct counter_set *c, unsigned device, int err);
/* Makes the values of a device's channels from raw and err of its counters, at time_ns. Channels
 * without counters have READING_NONE. */
void counter_set__take(struct counter_set *c, unsigned device, uint64_t time_ns,
		       struct sensor_value *values);

/* Calls fn for each entry of the directory that does not begin with a dot, in the order of their
 * numbers, until a call does not return 0: that value is returned. 0; -ENOENT, also if it is no
 * directory; -errno. */
int sensor__each_entry(const char *dir, int (*fn)(void *arg, const char *dir, const char *name),
		       void *arg);

/* The table's name that counter_set__add_device() makes of name, if no other table has it. */
void counter_set__table_name(char out[COUNTER_SET_TABLE], const char *name);

#endif
