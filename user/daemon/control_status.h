/* SPDX-License-Identifier: GPL-2.0-only */
/* How the daemon is, sent to a peer. */
#ifndef JP_DAEMON_CONTROL_STATUS_H
#define JP_DAEMON_CONTROL_STATUS_H

#include <stdint.h>

struct control;
struct peer;

/* What daemon_status() says, and how many problems there are. 0 or -errno. */
int control_status__send(struct control *c, struct peer *p, unsigned *problems, uint64_t now);

#endif
