/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of all built-in sensors. A new one is a file that defines "const struct sensor_ops
 * sensor_NAME" (sensor/core/sensor.h says what it must do), and one line here.
 */
#ifndef JP_SENSOR_SENSORS_H
#define JP_SENSOR_SENSORS_H

#include "sensor/core/sensor.h"

/* In the order of preference for energy: the first one that measures a part of the node is taken.
 */
#define SENSORS(X)                                                    \
	X(rapl)                                                       \
	X(rapl_cores)                                                 \
	X(nvml) /* before rsmi: GPUs are numbered as jobs see them */ \
	X(rsmi)                                                       \
	X(pm_counters)                                                \
	X(xcc)                                                        \
	X(ipmi)                                                       \
	X(hwmon)                                                      \
	X(cpu)                                                        \
	X(node)                                                       \
	X(memory)                                                     \
	X(ports)                                                      \
	X(slingshot)                                                  \
	X(netdev)                                                     \
	X(mounts)                                                     \
	X(disks)

#define SENSOR_DECLARE(name) extern const struct sensor_ops sensor_##name;
SENSORS(SENSOR_DECLARE)
#undef SENSOR_DECLARE

/* All of them; a NULL ends the list. */
extern const struct sensor_ops *const sensor_sources[];
extern const unsigned n_sensor_sources;

#endif
