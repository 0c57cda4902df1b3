/* SPDX-License-Identifier: GPL-2.0-only */
/* The built-in sources, one file each, for sensor.c alone. */
#ifndef JP_SENSOR_CORE_SOURCES_H
#define JP_SENSOR_CORE_SOURCES_H

#include "sensor/core/sensor.h"

/* One line per source, in the order of sensor_sources[]. */
extern const struct sensor_ops sensor_rapl;
extern const struct sensor_ops sensor_rapl_cores;
extern const struct sensor_ops sensor_nvml;
extern const struct sensor_ops sensor_rsmi;
extern const struct sensor_ops sensor_pm_counters;
extern const struct sensor_ops sensor_xcc;
extern const struct sensor_ops sensor_ipmi;
extern const struct sensor_ops sensor_hwmon;
extern const struct sensor_ops sensor_cpu;
extern const struct sensor_ops sensor_node;
extern const struct sensor_ops sensor_ports;
extern const struct sensor_ops sensor_slingshot;
extern const struct sensor_ops sensor_netdev;
extern const struct sensor_ops sensor_mounts;
extern const struct sensor_ops sensor_disks;

#endif
