/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_DAEMON_CONTROL_INTERNAL_H
#define JP_DAEMON_CONTROL_INTERNAL_H

#include "daemon/control.h"
#include "daemon/internal.h"
#include "daemon/peer.h"

struct control {
	struct daemon *d;
	char path[108];
	int epfd, listener;
	struct peer *peers;
	unsigned npeers;
	gid_t admin_gid;
	struct log_limit said_full, said_refused;
	char buf[JPC_MAX];
};

/* control_messages.c: answers, or lets pass in silence, one message of whole length. */
void control_message(struct control *c, struct peer *p, const struct jpc_head *h, uint64_t now);
/* control_live.c: the last rows of the steps that are asked for and that the peer may see. */
int control_live(struct control *c, struct peer *p, const struct jpc_live *question,
		 unsigned *tables, uint64_t now);

#endif
