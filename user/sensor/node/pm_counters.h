/* SPDX-License-Identifier: GPL-2.0-only */
/* HPE/Cray nodes: what the blade's controller measures, about ten times a second, in
 * /sys/cray/pm_counters. */
#ifndef JP_SENSOR_NODE_PM_COUNTERS_H
#define JP_SENSOR_NODE_PM_COUNTERS_H

#include "sensor/core/sensor.h"

/*
 * Channels: energy and power of the node (accelerators included), of all processors together
 * ("cpu": PART_PACKAGE, -1), of all memory ("memory": PART_DRAM, -1), of each accelerator; of
 * single processors where the blade shows them. All values of one reading are of one scan;
 * READING_REPEATED is a scan that was read before. After a restart of the controller energies are
 * READING_GAP.
 */
extern const struct sensor_ops sensor_pm_counters;

#endif
