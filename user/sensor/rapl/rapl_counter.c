// SPDX-License-Identifier: GPL-2.0-only
/* From raw values of an energy counter to joules. */
#include <errno.h>

#include "base/clock.h"
#include "sensor/rapl/rapl.h"

/* The part of late_j that may pass between two readings at the highest power. The rest allows for
 * an error of that power. */
#define LATE 0.8
/* The hardware makes a new value every 1 ms with jitter, so a short time may hold the energy of a
 * longer one. */
#define JITTER_S 0.02

uint64_t (*rapl_clock)(void) = clock__boot_ns;

/* The joules counted since the last reading; false: they are not known. */
static bool passed(const struct rapl_counter *c, const struct rapl_raw *raw, double *joules)
{
	double seconds = (double)(raw->time_ns - c->last_ns) / NSEC_PER_SEC;
	uint64_t counts = raw->count - c->last;

	if (c->late_j > 0 && seconds * c->pmax_w > LATE * c->late_j)
		return false;
	if (c->range) {
		if (raw->count >= c->range || c->last >= c->range)
			return false;
		if (raw->count < c->last)
			counts += c->range;
	}
	*joules = (double)counts * c->unit;
	return *joules <= c->pmax_w * (seconds + JITTER_S);
}

struct sensor_value rapl_counter__take(struct rapl_counter *c, const struct rapl_raw *raw)
{
	struct sensor_value v = {.time_ns = raw->time_ns, .quality = READING_GAP};
	double joules;

	if (raw->err) {
		c->based = false;
		v.value = NAN;
		v.quality =
			raw->err == -EACCES || raw->err == -EPERM ? READING_DENIED : READING_NONE;
		return v;
	}
	if (c->based && passed(c, raw, &joules)) {
		c->joules += joules;
		v.quality = READING_GOOD;
	}
	c->based = true;
	c->last = raw->count;
	c->last_ns = raw->time_ns;
	v.value = c->joules;
	return v;
}
