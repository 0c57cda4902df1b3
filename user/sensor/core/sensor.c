// SPDX-License-Identifier: GPL-2.0-only
/* Names of the parts of a node, and of the qualities of a reading. */
#include "sensor/core/sensor.h"

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
