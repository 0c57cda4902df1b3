/* SPDX-License-Identifier: GPL-2.0-only */
/* One request to the BMC and its answer, by the kernel's /dev/ipmi0. */
#ifndef JP_SENSOR_IPMI_IPMI_LINK_H
#define JP_SENSOR_IPMI_IPMI_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "sensor/core/sensor.h"

#define IPMI_MAX_ANSWER 64 /* what we ask for is shorter */

struct ipmi_request {
	uint8_t netfn, lun, cmd;
	uint8_t len;
	uint8_t data[8];
};

/* Who answers: the device, or a made-up BMC in tests. */
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
 * -ENOENT: there is none; -EACCES; other -errno. where[len], if not NULL: which one was tried.
 */
int ipmi_link__open(struct ipmi_link *link, const char *dev, const char *path, char *where,
		    size_t len);
void ipmi_link__close(struct ipmi_link *link);

/*
 * A call whose answer must be good: asks again while the BMC is busy. Returns the length of what
 * follows the completion code, which goes to data[IPMI_MAX_ANSWER]. -EBUSY: busy to the end;
 * -ETIMEDOUT; -EOPNOTSUPP: it does not know the command, or not for this; -ESTALE: the reservation
 * was lost; -EACCES: not permitted; -EIO: any other completion code.
 */
int ipmi_link__ask(struct ipmi_link *link, const struct ipmi_request *req, uint8_t *data,
		   uint64_t deadline_ns);

#endif
