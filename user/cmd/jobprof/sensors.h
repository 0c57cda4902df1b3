/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprof sensors: what was read of each source, and the formats of the output. */
#ifndef JP_CMD_JOBPROF_SENSORS_H
#define JP_CMD_JOBPROF_SENSORS_H

#include <stdio.h>

#include "sensor/core/sensor.h"
#include "sensor/core/async.h"

struct source {
	const struct sensor_ops *ops;
	int err;	  /* error of probing, opening or reading; 0: it has values */
	bool absent;	  /* there is no such thing on this node */
	char detail[256]; /* how it is read, or what is missing */
	struct sensor *fast;
	struct async *slow;
	unsigned n;
	const struct sensor_channel *ch; /* [n], the source's */
	struct sensor_value *now, *before;
};

struct sensors_format {
	/* Prints what one round has read; all: also sources that are absent. compact: on one line.
	 */
	int (*print)(FILE *out, const struct source *s, unsigned n, bool all, bool compact);
};

#endif
