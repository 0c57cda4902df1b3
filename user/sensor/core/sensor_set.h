/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All sources of a node, open, and the last value of each of their channels. One thread; slow
 * sources have theirs (sensor/core/async.h) and are never waited for.
 */
#ifndef JP_SENSOR_CORE_SENSOR_SET_H
#define JP_SENSOR_CORE_SENSOR_SET_H

#include "sensor/core/sensor.h"

/* Its number, and what ops and channel point to, stay as they are until the set is closed. */
struct channel_state {
	const struct sensor_ops *ops;
	const struct sensor_channel *channel;
	double value;	  /* of the last reading; NAN: it gave none. A slow source that has made no
			   * new one is still where it was */
	uint64_t time_ns; /* CLOCK_BOOTTIME when that was measured; 0: never */
	uint64_t gaps;	  /* grows whenever what was counted since the last reading is not known */
	enum sensor_quality quality;
};

struct sensor_set;

struct sensor_set_opts {
	struct sensor_roots roots; /* copied */
	const char *only;	   /* names of sources, "all", "all,-ipmi"; NULL: all */
	uint64_t slow_period_ns;   /* of slow sources; 0: 1 s */
	uint64_t look_ns;	   /* how often those that grow are opened again; 0: 60 s */
};

/* Opens what is there of sources[n]; what is there and cannot be opened is logged. 0 or -ENOMEM. */
int sensor_set__open(struct sensor_set **out, const struct sensor_ops *const *sources, unsigned n,
		     const struct sensor_set_opts *opts);
void sensor_set__close(struct sensor_set *set); /* NULL is fine */
/* Reads all quick sources that are wanted, and takes the last values of the slow ones. */
void sensor_set__read(struct sensor_set *set);
/* The same, and quick ones that are not wanted. */
void sensor_set__read_all(struct sensor_set *set);
/*
 * Which channels are wanted: wanted[n], of all those so far; at first all are. Sources none of
 * whose channels is are not read and have no values until they are read again. Of slow ones that
 * are wanted, the period.
 */
void sensor_set__want(struct sensor_set *set, const bool *wanted, unsigned n,
		      uint64_t slow_period_ns);
/* Those known so far: more come at the end when slow sources answer for the first time. The
 * pointer is good until the next sensor_set__read(). */
unsigned sensor_set__channels(const struct sensor_set *set, const struct channel_state **out);
/* Whether only (as in sensor_set_opts) means the source of that name. */
bool sensor_set__means(const char *only, const char *name);

#endif
