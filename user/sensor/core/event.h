/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of PMUs that count for a whole package: energy, memory traffic. */
#ifndef JP_SENSOR_CORE_EVENT_H
#define JP_SENSOR_CORE_EVENT_H

#include <linux/perf_event.h>

#include "sensor/core/sensor.h"

/* perf_event_open(2) for all processes of a CPU: an fd or -errno. Tests set a function of their
 * own. */
typedef int sensor_event_open_fn(struct perf_event_attr *attr, int cpu, int group_fd);
extern sensor_event_open_fn *sensor_event_open;
/* Whether events may be opened: not by the kernel's function where the roots are another tree than
 * /sys, whose events are not this machine's. */
bool sensor_event__may_open(const struct sensor_roots *roots);
/* Parses the factor by which a PMU says to multiply an event's count: "6.1e-5". 0 or -EINVAL. */
int sensor_event__scale(const char *text, double *scale);

#endif
