/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source that may take long or hang, on a thread of its own. A reader gets the last values, with
 * the times they were measured at, and never waits.
 *
 * A call of the source that takes longer than the deadline is given up: the source is named once,
 * its values are READING_NONE, and after a while a new thread opens it afresh. The thread that
 * hangs keeps what it has opened, closes it and ends when the call comes back, whenever that is:
 * the struct sensor_ops must be there for good.
 */
#ifndef JP_SENSOR_CORE_ASYNC_H
#define JP_SENSOR_CORE_ASYNC_H

#include "sensor/core/sensor.h"

struct async;

struct async_opts {
	uint64_t period_ns;    /* from one reading to the next; at least 1 ms */
	uint64_t deadline_ns;  /* of one call */
	uint64_t retry_ns;     /* from a failed opening, or a call given up, to the next try */
	uint64_t (*now)(void); /* NULL: clock__boot_ns; tests step it */
};

#define ASYNC_DEFAULTS                                                                       \
	{                                                                                    \
		.period_ns = 1000000000, .deadline_ns = 10000000000, .retry_ns = 60000000000 \
	}

/* Threads of one source that hang at the same time; more are not begun. */
#define ASYNC_HUNG_MAX 4

/* Starts the thread, which opens the source. Copies roots and opts. 0 or -errno. */
int async__start(struct async **out, const struct sensor_ops *ops, const struct sensor_roots *roots,
		 const struct async_opts *opts);
/* How many channels; 0 until the source has been opened for the first time. From then on they stay
 * as they are until async__stop(): what the source no longer has after it was opened again has no
 * values, and what it has more is not shown. */
unsigned async__channels(struct async *s, const struct sensor_channel **out);
/*
 * The last values, as many as async__channels() said last; those that were given before are
 * READING_REPEATED. 0; -EAGAIN: there are none yet, or async__channels() has not said how many;
 * -ETIMEDOUT: it hangs; else why it could not be opened or read. Never waits for the source. It is
 * also what notices that a call takes too long, and what tries again: one thread calls it, now and
 * then.
 */
int async__read(struct async *s, struct sensor_value *values);
/* From one reading to the next, from now on. */
void async__set_period(struct async *s, uint64_t ns);
/* Ends the thread and frees all; waits for it at most 1 s, and if it hangs, not at all. */
void async__stop(struct async *s);

#endif
