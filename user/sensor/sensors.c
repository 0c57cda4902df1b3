// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of all built-in sensors, made from the table in sensors.h. */
#include "sensor/sensors.h"

#define SENSOR_ENTRY(name) &sensor_##name,

const struct sensor_ops *const sensor_sources[] = {SENSORS(SENSOR_ENTRY) NULL};

const unsigned n_sensor_sources = sizeof(sensor_sources) / sizeof(sensor_sources[0]) - 1;
