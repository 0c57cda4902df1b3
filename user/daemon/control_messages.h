/* SPDX-License-Identifier: GPL-2.0-only */
/* What may be said over the socket, by which peers, and what it does. */
#ifndef JP_DAEMON_CONTROL_MESSAGES_H
#define JP_DAEMON_CONTROL_MESSAGES_H

#include <stdint.h>

struct control;
struct jpc_head;
struct peer;

/* Answers, or lets pass in silence, one message of whole length. */
void control_messages__handle(struct control *c, struct peer *p, const struct jpc_head *h,
			      uint64_t now);

#endif
