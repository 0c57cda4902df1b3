/* SPDX-License-Identifier: GPL-2.0-only */
/* The BMC's own list of its sensors: the SDR repository. */
#ifndef JP_SENSOR_IPMI_IPMI_SDR_H
#define JP_SENSOR_IPMI_IPMI_SDR_H

#include "sensor/ipmi/ipmi_proto.h"

/* Sees one sensor; 0: go on, 1: enough. */
typedef int (*sdr_fn)(void *context, const struct ipmi_sensor *s);

/*
 * Shows all full sensor records to each() in the repository's order; those that are broken, and of
 * other kinds, are passed over. Bounded: a repository that leads in a circle ends. 0, or -errno of
 * ipmi_link__ask().
 */
int ipmi_sdr__walk(struct ipmi_link *link, sdr_fn each, void *context, uint64_t deadline_ns);

#endif
