// SPDX-License-Identifier: GPL-2.0-only
/* Which sources there are, and words for what they say. */
#include "sensor/core/sensor.h"
#include "sensor/core/sources.h"

/* One line per source; the NULL ends it. */
const struct sensor_ops *const sensor_sources[] = {
	&sensor_rapl,	&sensor_rapl_cores,  &sensor_nvml, /* numbers of GPUs as jobs see them */
	&sensor_rsmi,	&sensor_pm_counters, &sensor_xcc,   &sensor_ipmi,      &sensor_hwmon,
	&sensor_cpu,	&sensor_node,	     &sensor_ports, &sensor_slingshot, &sensor_netdev,
	&sensor_mounts, &sensor_disks,	     NULL,
};

const unsigned n_sensor_sources = sizeof(sensor_sources) / sizeof(sensor_sources[0]) - 1;

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
