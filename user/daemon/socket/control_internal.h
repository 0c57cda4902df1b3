/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket's listeners and peers, and how a message of a peer is handled. For the files of this
 * folder only. */
#ifndef JP_DAEMON_SOCKET_CONTROL_INTERNAL_H
#define JP_DAEMON_SOCKET_CONTROL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/outbuf.h"
#include "client/protocol.h"
#include "daemon/follow/daemon_state.h"
#include "daemon/socket/peer.h"

/* ---- A listening socket. There is one for all users, and one for root alone, so that no number of
 * users' connections blocks root. */

struct listener {
	char path[108]; /* "": not there */
	int fd;
	int epfd;    /* the listener's data is NULL */
	bool paused; /* no connection is accepted for a while */
};

enum { LISTENER_ROOT, LISTENER_ALL, LISTENERS }; /* in the order in which they are served */

struct control {
	struct daemon *d;
	struct listener listeners[LISTENERS];
	int epfd; /* readable when a listener's is */
	struct peer *peers;
	struct quotas quotas;
	uint64_t ring_records; /* records of rings that may still be read in this turn */
	unsigned ring_peer;    /* whose ring is read first at the next rows */
	uint64_t resume_ns;    /* peers wait, or no connection is accepted, until then */
	uint64_t check_ns;     /* of the next check for peers to remove */
	gid_t admin_gid;
	uid_t metrics_uid;	/* MetricsUser; (uid_t)-1: there is none */
	struct outbuf programs; /* the last answer's lines on programs, of programs_ns */
	uint64_t programs_ns;
	bool programs_attached;
	struct log_limit log_full, log_refused, log_unread, log_busy, log_paused;
	char buf[JPC_MAX];
};

/* One message of a peer, and the reply to it. */
struct call {
	struct control *c;
	struct peer *p;
	uint64_t now;
	struct jpc_reply reply;
};

/* What -ESRCH means to a sender outside of profiled steps. */
#define CONTROL_NO_STEP \
	"this process is in no step that is profiled: ask for a profile, as in srun --jobprof=all"

#define TERMINATED(field) (memchr(field, 0, sizeof(field)) != NULL)

/* Handles one complete message, and answers it if an answer is wanted. */
void control_messages__handle(struct control *c, struct peer *p, const struct jpc_head *h,
			      uint64_t now);

/* Messages that bring external series: tables, rows and marks, of Slurm's gatherers and of the
 * job's own programs. 0, or -errno of the reply. */
int control_rows__table(struct call *k, const struct jpc_head *h);
int control_rows__rows(struct call *k, const struct jpc_head *h);
int control_rows__mark(struct call *k, const struct jpc_head *h);

/* The peer's own step, even if the kernel's event about it has not been read yet; NULL: there is
 * none, or it is not known. */
struct step *control_rows__own_step(const struct call *k);

/* Gives the peer's process a ring for its regions, or reads the one that it has. 0, or -errno of
 * the reply. */
int control_ring__message(struct call *k, const struct jpc_head *h);
/* Reads the peer's ring, if it has one, into the request of its step, as far as its user's quota
 * and the turn allow. last: what remains unread or open is lost. */
void control_ring__read(struct control *c, struct peer *p, uint64_t now, bool last);

/* The request that rows of this peer belong to; NULL with the reason in k->reply.text. */
struct request *control_rows__request(struct call *k, int *err);

/* Sends the state of jobprofd, and sets the number of problems in the reply. 0 or -errno. */
int control_status__send(struct call *k, bool as_json);
/* How many steps have ended without their file, and rows were left out since the start. */
void control_status__count(const struct daemon *d, unsigned *waiting, uint64_t *left_out);
/* Sends the metrics of the node and its jobs. 0, or -errno of the reply. */
int control_metrics__send(struct call *k);

/* The peer is slurmstepd, and gets the findings of its step from now on. 0, or -errno of the reply.
 */
int control_findings__message(struct call *k);

/* Sends a table of the step with one row of these cells, as the tables-th of the answer. 0 or
 * -errno. */
int control_live__send(struct control *c, struct peer *p, const struct step *s,
		       const struct table *t, const union cell *cells, uint64_t now);

/* Begins the answer with the last rows of the steps that are asked for and that the peer may see.
 * 0; -ESRCH: there are none. */
int control_live__begin(struct control *c, struct peer *p, const struct jpc_live *question);
/* Begins the answer with the last bursts of the first step that is asked for and that the peer may
 * see. 0; -ESRCH: there is none; -ENODATA, -EDQUOT: see struct jpc_bursts; -ENOMEM. */
int control_live__bursts(struct control *c, struct peer *p, const struct jpc_bursts *question,
			 uint64_t now);
/* Continues the answer as far as the peer reads and its user's quota allows; a REPLY ends it. */
void control_live__continue(struct control *c, struct peer *p, uint64_t now);

#endif
