/* SPDX-License-Identifier: GPL-2.0-only */
/* The last rows of steps, sent to a peer that may see them. */
#ifndef JP_DAEMON_CONTROL_LIVE_H
#define JP_DAEMON_CONTROL_LIVE_H

#include <stdint.h>

struct control;
struct jpc_live;
struct peer;

/* Begins the answer with the last rows of the steps that are asked for and that the peer may see.
 * 0; -ESRCH: there are none. */
int control_live__begin(struct control *c, struct peer *p, const struct jpc_live *question);
/* Goes on with it as far as the peer reads and its user's quota allows; a REPLY ends it. */
void control_live__continue(struct control *c, struct peer *p, uint64_t now);

#endif
