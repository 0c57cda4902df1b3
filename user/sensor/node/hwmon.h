/* SPDX-License-Identifier: GPL-2.0-only */
/* Power and energy that drivers show in /sys/class/hwmon: ACPI power meters (NVIDIA Grace's too),
 * amd_energy, xgene, ibmpowernv, GPUs. */
#ifndef JP_SENSOR_NODE_HWMON_H
#define JP_SENSOR_NODE_HWMON_H

#include "sensor/core/sensor.h"

/*
 * One channel per power*_average (else power*_input) and energy*_input of every chip but batteries
 * and chargers. The chip's name and the label say which part it is: what is not known is
 * PART_OTHER, never guessed to be the node. An ACPI power meter without a label is the node's when
 * there is one alone. Of NVIDIA Grace, "Grace Power" is the package (its memory and regulators in
 * it), "Module Power" the platform (a GPU on the module in it). Slow: an ACPI meter may ask the
 * BMC.
 */
extern const struct sensor_ops sensor_hwmon;

#endif
