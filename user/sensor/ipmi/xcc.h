/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy and power of the node as Lenovo's BMC (XCC) measures them, by a command of its own. */
#ifndef JP_SENSOR_IPMI_XCC_H
#define JP_SENSOR_IPMI_XCC_H

#include "sensor/ipmi/ipmi_link.h"
#include "sensor/core/sensor.h"

/*
 * "Node energy" where the BMC counts it (ThinkSystem SD650), "Node power" where it gives the power
 * (its successors): the first answer of the BMC tells which. The command is Lenovo's, and no other
 * BMC is asked: sysfs must name Lenovo as the system's vendor, and so must the BMC.
 *
 * The BMC stamps its measurements: a value with the same stamp is READING_REPEATED with the time of
 * the first. The count of J has 32 bits: where it falls, it has wrapped, or it has begun again if
 * no machine could have used that much meanwhile (READING_GAP).
 */
extern const struct sensor_ops sensor_xcc;

#define XCC_ENERGY_LEN 14 /* lengths of its two kinds of answers, without the completion code */
#define XCC_POWER_LEN  38 /* or two more, before the stamp */

struct xcc_reading {
	bool energy; /* else it is power */
	uint64_t mj; /* since the BMC began to count, or since the count wrapped */
	uint64_t mw;
	uint64_t stamp_ms; /* of the BMC's clock; 0: it has none */
};

/* data[len]: the answer behind its completion code. -EPROTO: it is neither of the two. */
int xcc__parse(const uint8_t *data, int len, struct xcc_reading *r);

/* For tests: opens a source of a made-up BMC, whose link it takes over in any case. As
 * sensor__open(). */
int xcc__open_link(struct sensor **out, struct ipmi_link *link);

#endif
