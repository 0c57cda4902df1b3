/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All sources of a node, open, and the last value of each of their channels. One thread uses a set;
 * slow sources have threads of their own (sensor/core/async.h) and are never waited for.
 */
#ifndef JP_SENSOR_CORE_SENSOR_SET_H
#define JP_SENSOR_CORE_SENSOR_SET_H

#include "sensor/core/sensor.h"

/* A channel's number in the set, ops, and *channel do not change until the set is closed.
 */
struct channel_state {
	const struct sensor_ops *ops;
	const struct sensor_channel *channel;
	double value;	  /* value of the last reading; NAN: there was none. It stays while a slow
			     source has no new reading */
	uint64_t time_ns; /* CLOCK_BOOTTIME when that was measured; 0: never */
	uint64_t gaps;	  /* how often the increase since the last reading was not known */
	enum sensor_quality quality;
};

struct sensor_set;

struct sensor_set_opts {
	struct sensor_roots roots; /* copied */
	const char *only;	   /* names of sources, "all", "all,-ipmi"; NULL: all */
	uint64_t slow_period_ns;   /* of slow sources; 0: 1 s */
	uint64_t rescan_ns;	   /* how often sources that grow are opened again; 0: 60 s */
};

/* Opens those of sources[n] that the node has; logs each that cannot be opened. 0 or -ENOMEM. */
int sensor_set__open(struct sensor_set **out, const struct sensor_ops *const *sources, unsigned n,
		     const struct sensor_set_opts *opts);
void sensor_set__close(struct sensor_set *set); /* NULL is fine */
/* Reads all fast sources that are wanted, and takes the last values of the slow ones. */
void sensor_set__read(struct sensor_set *set);
/* As sensor_set__read(), and also reads the fast sources that are not wanted. */
void sensor_set__read_all(struct sensor_set *set);
/*
 * Sets which channels are wanted, wanted[n] for all channels so far; at first all are. A source
 * without a wanted channel is not read, and has no values until it is read. slow_period_ns: the
 * time between two readings of a slow source that is wanted.
 */
void sensor_set__want(struct sensor_set *set, const bool *wanted, unsigned n,
		      uint64_t slow_period_ns);
/* Sets *out to the channels known so far, and returns their number. Further ones are appended when
 * slow sources answer for the first time. *out is valid until the next sensor_set__read(). */
unsigned sensor_set__channels(const struct sensor_set *set, const struct channel_state **out);
/* The next word of a list like sensor_set_opts.only, without a minus before it. False: there is
 * none. */
bool sensor_set__word(const char **list, char *word, size_t size);
/* Whether the list `only` (see sensor_set_opts) selects the source. */
bool sensor_set__means(const char *only, const char *name);

#endif
