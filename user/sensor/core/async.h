/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a source that may take long or hang on a thread of its own. A reader gets the last values,
 * with the times of their measurement, and never waits.
 *
 * A call of the source that takes longer than the deadline is abandoned: the log names the source
 * once, its values are READING_NONE, and after a while a new thread opens it again. The thread that
 * hangs closes its own source and ends when the call returns, whenever that is: the struct
 * sensor_ops must exist until the program ends.
 */
#ifndef JP_SENSOR_CORE_ASYNC_H
#define JP_SENSOR_CORE_ASYNC_H

#include "sensor/core/sensor.h"

struct async;

struct async_opts {
	uint64_t period_ns;    /* from one reading to the next; at least 1 ms */
	uint64_t deadline_ns;  /* for one call */
	uint64_t retry_ns;     /* from a failed opening, or an abandoned call, to the next try */
	uint64_t (*now)(void); /* NULL: clock__boot_ns; tests step it */
};

#define ASYNC_DEFAULTS                                                                       \
	{                                                                                    \
		.period_ns = 1000000000, .deadline_ns = 10000000000, .retry_ns = 60000000000 \
	}

/* How many threads of one source may hang at the same time; more are not started. */
#define ASYNC_HUNG_MAX 4

/* Starts the thread, which opens the source. Copies roots and opts. 0 or -errno. */
int async__start(struct async **out, const struct sensor_ops *ops, const struct sensor_roots *roots,
		 const struct async_opts *opts);
/* How many channels the source has; 0 until it has been opened for the first time. From then on
 * they stay as they are until async__stop(): after the source was opened again, a channel that it
 * no longer has is without values, and a new one is left out. */
unsigned async__channels(struct async *s, const struct sensor_channel **out);
/*
 * Writes the last values, as many as async__channels() returned last; values that the caller has
 * had before are READING_REPEATED. 0; -EAGAIN: there are none yet, or async__channels() was not
 * called since; -ETIMEDOUT: the source hangs; else the error of its open or read. Never waits for
 * the source. One thread must call this function repeatedly, because it also abandons a call that
 * takes too long, and opens the source again.
 */
int async__read(struct async *s, struct sensor_value *values);
/* Sets the time from one reading to the next, ns. */
void async__set_period(struct async *s, uint64_t ns);
/* Ends the thread and frees all. Waits for the thread at most 1 s, and not at all if the source
 * hangs.
 */
void async__stop(struct async *s);

#endif
