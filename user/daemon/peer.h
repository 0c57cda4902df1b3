/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection to the socket: its user and step, its tables, and what it has yet to read. */
#ifndef JP_DAEMON_PEER_H
#define JP_DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "daemon/request.h"
#include "daemon/quota.h"

#define PEER_TABLES  128
#define PEER_SLOW_NS (5 * NSEC_PER_SEC)
#define PEER_IDLE_NS (10 * NSEC_PER_SEC) /* of a user's that is in no job */

/* How far the answer to a LIVE is. */
struct live_at {
	bool on;
	uint16_t seq;
	struct jpc_live question;
	uint32_t slot, gen;  /* the step whose tables are sent */
	unsigned part, next; /* of it */
	unsigned tables;     /* sent */
};

struct peer {
	struct peer *next;
	int fd;
	uid_t uid;    /* of all its messages, or it is put out */
	bool admin;   /* in the configured group */
	pid_t pid;    /* of the last message */
	bool located; /* its cgroup is in a step, or in a job's directory */
	bool in_step;
	bool in_task; /* one of the job's own programs, not slurmstepd */
	struct step_key key;
	uint64_t request;	     /* serial, 0: none yet */
	int16_t tables[PEER_TABLES]; /* its numbers to those of the request, -1: not declared */
	struct quota *quota;	     /* its user's; NULL: root */
	struct live_at live;
	char *out; /* messages with their lengths in the heads */
	size_t out_len, out_at;
	uint64_t out_ns;   /* when it last read something */
	uint64_t heard_ns; /* when it last said something */
	uint32_t watched;  /* events; 0: not in the epoll set */
	bool deaf;	   /* not read from until its user's quota has filled again */
	bool mute;	   /* it has gone; what it has said is still read */
	bool slow;	   /* more waits for it than may */
	bool closing;
};

/* Takes over the socket. NULL: no memory; the socket is closed. admin_gid (gid_t)-1: none. */
struct peer *peer__new(int fd, gid_t admin_gid);
void peer__free(struct peer *p);

struct cgroup_roots;
/* Finds the step or job that the process which sent the message is in. */
void peer__locate(struct peer *p, const struct cgroup_roots *roots, pid_t pid);

/* It is not behind with reading, and no answer to it is under way. */
bool peer__listens(const struct peer *p);
/* Sends, or keeps what does not fit yet. -EDQUOT: too much waits for this user, or all. */
int peer__send(struct peer *p, const void *message, uint64_t now_ns);
/* Sends the answer to the message of that number; a peer that cannot have it is closing. */
void peer__reply(struct peer *p, uint16_t seq, struct jpc_reply *reply, uint64_t now_ns);
/* Goes on with what waits, until nothing does or the peer must read first. -errno: it is gone. */
int peer__flush(struct peer *p, uint64_t now_ns);
/* Nothing more is sent to it. */
void peer__mute(struct peer *p);

#endif
