/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs of a node: package, die and core of each, and their maker. */
#ifndef JP_SENSOR_CORE_CPUS_H
#define JP_SENSOR_CORE_CPUS_H

#include <stdbool.h>

#include "sensor/core/sensor.h"

struct cpu_place {
	int cpu;
	int package; /* socket, as the kernel numbers it */
	int die;     /* in the package: 0, 1, ... whatever the kernel calls them */
	int core;    /* physical core of the node: 0, 1, ... in the order of their first CPUs */
};

enum cpu_vendor { VENDOR_OTHER, VENDOR_INTEL, VENDOR_AMD };

/* The CPUs that were online when they were read. */
struct cpus {
	struct cpu_place *at; /* [n], by rising number */
	unsigned n;
	int packages; /* how many packages; 0: not known */
	int dies;     /* most dies of one package, 1 at least; AMD's packages count as one die */
	enum cpu_vendor vendor; /* AMD: Hygon too */
	unsigned family, model;
};

/* Reads sysfs and /proc/cpuinfo. 0 or -ENOMEM; a field is 0 where it is not known. */
int cpus__read(struct cpus *c, const struct sensor_roots *roots);
void cpus__free(struct cpus *c);
/* The first CPU at or after position *from of c->at that is in the package and die (-1: any die);
 * *from becomes the position behind it. -1: there are no more. */
int cpus__next(const struct cpus *c, int package, int die, unsigned *from);
/* The place of a CPU; NULL: it was not online. */
const struct cpu_place *cpus__find(const struct cpus *c, int cpu);

#endif
