/* SPDX-License-Identifier: GPL-2.0-only */
/* One message of a peer and the reply to it: for the files of control_messages.h only. */
#ifndef JP_DAEMON_CONTROL_CALL_H
#define JP_DAEMON_CONTROL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/protocol.h"

struct call {
	struct control *c;
	struct peer *p;
	uint64_t now;
	struct jpc_reply reply;
};

/* Puts the text in the reply. Returns err. */
int control_call__refuse(struct call *k, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool control_call__is_terminated(const char *text, size_t size);

#define TERMINATED(field) control_call__is_terminated(field, sizeof(field))

#endif
