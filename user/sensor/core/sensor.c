// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens and closes sources; names the parts of a node and the qualities of a reading. */
#include "sensor/core/sensor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sensor__open(const struct sensor_ops *ops, struct sensor **out,
		 const struct sensor_roots *roots)
{
	struct sensor *s = calloc(1, ops->size);
	int err = s ? ops->open(s, ops, roots) : -ENOMEM;

	if (err) {
		sensor__close(ops, s);
		return err;
	}
	*out = s;
	return 0;
}

int sensor__probe(const struct sensor_ops *ops, const struct sensor_roots *roots, char *text,
		  size_t len)
{
	struct sensor *s;
	int err;

	if (ops->probe)
		return ops->probe(ops, roots, text, len);
	s = calloc(1, ops->size);
	err = s ? ops->open(s, ops, roots) : -ENOMEM;
	if (s)
		ops->describe(s, roots, err, text, len);
	else
		snprintf(text, len, "%s", strerror(ENOMEM));
	sensor__close(ops, s);
	return err;
}

void sensor__close(const struct sensor_ops *ops, struct sensor *s)
{
	if (!s)
		return;
	ops->close(s);
	free(s);
}

const char *sensor__part_name(enum sensor_part part)
{
	static const char *const names[] = {
		[PART_NODE] = "node",	[PART_PLATFORM] = "platform", [PART_PACKAGE] = "package",
		[PART_CORES] = "cores", [PART_CORE] = "core",	      [PART_UNCORE] = "uncore",
		[PART_DRAM] = "dram",	[PART_GPU] = "gpu",	      [PART_PORT] = "port",
		[PART_MOUNT] = "mount", [PART_DISK] = "disk",	      [PART_OTHER] = "other",
	};

	return names[part];
}

const char *sensor__quality_name(enum sensor_quality q)
{
	static const char *const names[] = {
		[READING_GOOD] = "good",	 [READING_GAP] = "gap",
		[READING_NONE] = "none",	 [READING_DENIED] = "not permitted",
		[READING_REPEATED] = "repeated",
	};

	return names[q];
}
