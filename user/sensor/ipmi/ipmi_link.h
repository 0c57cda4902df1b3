/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to the BMC and its answer, through the kernel's /dev/ipmi0. */
#ifndef JP_SENSOR_IPMI_IPMI_LINK_H
#define JP_SENSOR_IPMI_IPMI_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "sensor/core/sensor.h"

#define IPMI_MAX_ANSWER 64 /* bytes; the answers to all our questions are shorter */

struct ipmi_request {
	uint8_t netfn, lun, cmd;
	uint8_t len;
	uint8_t data[8];
};

/* The BMC: the kernel's device, or a made-up one in tests. */
struct ipmi_link {
	void *context;
	/*
	 * answer[IPMI_MAX_ANSWER] gets the completion code and what follows. Returns its length (at
	 * least 1); -ETIMEDOUT: none came until deadline_ns (boot clock); other -errno.
	 */
	int (*call)(void *context, const struct ipmi_request *req, uint8_t *answer,
		    uint64_t deadline_ns);
	void (*close)(void *context);
};

/*
 * Opens path, or, if it is NULL, the first BMC below dev ("/dev"): ipmi0, ipmi/0, ipmidev/0.
 * -ENOENT: there is none; -EACCES; other -errno. where[len], if not NULL, gets the path that was
 * tried.
 */
int ipmi_link__open(struct ipmi_link *link, const char *dev, const char *path, char *where,
		    size_t len);
void ipmi_link__close(struct ipmi_link *link);

/*
 * The same for sensor_ops.probe, with the device that IPMI's settings name. The BMC is asked
 * nothing, because it may be slow. text[len] gets the device, or what is missing, with the hint if
 * there is no device.
 */
int ipmi_link__probe(const char *dev, const char *path, const char *hint, char *text, size_t len);
/* For readers of slow sources -ETIMEDOUT means a call that hangs and is abandoned. So a call that
 * returned with a timeout of its own becomes -ETIME; any other err stays. */
int ipmi_link__error(int err);
/*
 * Sends a request and checks the completion code; asks again while the BMC is busy. What follows
 * the code goes to data[IPMI_MAX_ANSWER], and its length is returned. -EBUSY: the BMC was busy to
 * the end; -ETIMEDOUT; -EOPNOTSUPP: the BMC does not know the command, or not for this sensor;
 * -ESTALE: the reservation was lost; -EACCES: not permitted; -EIO: any other completion code.
 */
int ipmi_link__ask(struct ipmi_link *link, const struct ipmi_request *req, uint8_t *data,
		   uint64_t deadline_ns);

#endif
