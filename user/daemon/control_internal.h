/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_DAEMON_CONTROL_INTERNAL_H
#define JP_DAEMON_CONTROL_INTERNAL_H

#include "base/log.h"
#include "daemon/control.h"
#include "daemon/listener.h"
#include "daemon/internal.h"
#include "daemon/peer.h"

enum { LISTENER_ROOT, LISTENER_ALL, LISTENERS }; /* in the order in which they are served */

struct control {
	struct daemon *d;
	struct listener listeners[LISTENERS];
	int epfd; /* readable when a door's is */
	struct peer *peers;
	struct quotas quotas;
	uint64_t resume_ns; /* peers wait, or nobody is let in, until then */
	uint64_t check_ns;  /* for the slow and the idle */
	gid_t admin_gid;
	struct log_limit said_full, said_refused, said_slow, said_busy, said_paused;
	char buf[JPC_MAX];
};

/* control_messages.c: answers, or lets pass in silence, one message of whole length. */
void control_messages__handle(struct control *c, struct peer *p, const struct jpc_head *h,
			      uint64_t now);
void peer__reply(struct peer *p, uint16_t seq, struct jpc_reply *reply, uint64_t now);
/* control_live.c: begins the answer with the last rows of the steps that are asked for and that the
 * peer may see. 0; -ESRCH: there are none. */
int control_live__begin(struct control *c, struct peer *p, const struct jpc_live *question);
/* Goes on with it as far as the peer reads and its share of the work goes; a REPLY ends it. */
void control_live__continue(struct control *c, struct peer *p, uint64_t now);

/* control_status.c: what daemon_status() says, and how many problems there are. */
int control_status__send(struct control *c, struct peer *p, unsigned *problems, uint64_t now);

#endif
