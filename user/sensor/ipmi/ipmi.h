/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power of the node as its BMC measures it, read in band through the kernel's IPMI device. */
#ifndef JP_SENSOR_IPMI_IPMI_H
#define JP_SENSOR_IPMI_IPMI_H

#include "sensor/ipmi/ipmi_link.h"
#include "sensor/ipmi/ipmi_settings.h"
#include "sensor/core/sensor.h"

/*
 * A channel for each label of EnergyIPMIPowerSensors: "Node" is PART_NODE, others PART_OTHER. By
 * default there is only "Node": the DCMI power reading, else the BMC's first sensor in watts. A
 * label is the sum of its sensors, and has no value when one of them has none.
 *
 * The time of a value is the middle of the exchange with the BMC. Where a BMC stamps its DCMI
 * readings, and gives the same stamp and values again, the value is READING_REPEATED with the time
 * of the first. A busy BMC is asked a few times; one that is slow, hangs or is inactive gives
 * READING_NONE after the timeout (-ETIME).
 *
 * period_ns: the shortest time between two different values while the source was opened (which
 * takes up to 2 s), 0 if they did not differ. The lag of values cannot be seen from here: lag_ns is
 * 0.
 */

extern const struct sensor_ops sensor_ipmi;

/* Settings for sensors opened from now on; copies them. Before threads are started. */
void ipmi__use(const struct ipmi_settings *s);
/* The settings of ipmi__use(), or the defaults. */
struct ipmi_settings ipmi__settings(void);

/* For tests: opens a source of a made-up BMC, whose link it takes over in any case. learn_ns: how
 * long it waits for changes to find the period. As sensor__open(). */
int ipmi__open_link(struct sensor **out, struct ipmi_link *link, const struct ipmi_settings *s,
		    uint64_t learn_ns);

#endif
