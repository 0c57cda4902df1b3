/* SPDX-License-Identifier: GPL-2.0-only */
/* The socket's listeners and peers: for the files of control.h only. */
#ifndef JP_DAEMON_CONTROL_STATE_H
#define JP_DAEMON_CONTROL_STATE_H

#include "base/log.h"
#include "daemon/listener.h"
#include "daemon/daemon_state.h"
#include "daemon/peer.h"

enum { LISTENER_ROOT, LISTENER_ALL, LISTENERS }; /* in the order in which they are served */

struct control {
	struct daemon *d;
	struct listener listeners[LISTENERS];
	int epfd; /* readable when a listener's is */
	struct peer *peers;
	struct quotas quotas;
	uint64_t resume_ns; /* peers wait, or nobody is let in, until then */
	uint64_t check_ns;  /* for the slow and the idle */
	gid_t admin_gid;
	struct log_limit said_full, said_refused, said_slow, said_busy, said_paused;
	char buf[JPC_MAX];
};

#endif
