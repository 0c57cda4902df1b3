/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks, temperatures and throttling of the processors, and pressure and memory of the node, from
 * small files of the kernel: the table CPU. */
#ifndef JP_SENSOR_NODE_CPU_H
#define JP_SENSOR_NODE_CPU_H

#include "sensor/core/sensor.h"

/*
 * Clocks of all CPUs that are online (cpufreq), how often and how long cores and packages were
 * throttled (by the first CPU of each core and package, because all its CPUs have the same count),
 * and the temperature of the hottest package. The source is slow: 2 us for each of two or three
 * files per CPU, and some drivers ask the CPU. A CPU that goes off line is left out; its earlier
 * counts stay, and when it comes back there is a gap.
 */
extern const struct sensor_ops sensor_cpu;

/* Pressure (PSI, "some") of the whole node, and memory in use: that which new programs could not
 * get. */
extern const struct sensor_ops sensor_node;

/* Files with temperatures of packages. */
struct cpu_heat {
	char **file; /* [n], owned */
	unsigned n;
};

/* Finds the files of drivers whose sensors are known. 0 or -ENOMEM; n is 0 if there are none. */
int cpu_heat__find(struct cpu_heat *h, const struct sensor_roots *roots);
/* The highest temperature that can be read, C. 0, or -errno of the last file if none can be read.
 */
int cpu_heat__read(const struct cpu_heat *h, double *celsius);
void cpu_heat__free(struct cpu_heat *h);

#endif
