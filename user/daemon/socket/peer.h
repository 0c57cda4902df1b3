/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One connection to the socket: its user and step, its tables, and the messages that wait until the
 * peer reads them. */
#ifndef JP_DAEMON_SOCKET_PEER_H
#define JP_DAEMON_SOCKET_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "daemon/socket/quota.h"
#include "daemon/step/regions.h"
#include "daemon/step/request.h"

#define PEER_TABLES    128
#define PEER_UNREAD_NS (5 * NSEC_PER_SEC)
#define PEER_IDLE_NS \
	(10 * NSEC_PER_SEC) /* for the connection of a user's process that is in no job */

/* How far the answer to a LIVE is. */
struct live_at {
	bool on;
	uint16_t seq;
	struct jpc_live question;
	bool bursts; /* the question is a BURSTS */
	uint64_t after;
	uint32_t slot, gen;  /* the step whose tables are sent now */
	unsigned part, next; /* where in its tables the answer is */
	unsigned tables;     /* sent */
};

struct peer {
	struct peer *next;
	int fd;
	uid_t uid;    /* of all its messages; a message of another user ends the connection */
	bool admin;   /* in the configured group */
	pid_t pid;    /* of the last message */
	bool located; /* its cgroup is in a step, or in a job's directory */
	bool in_step;
	bool in_task; /* one of the job's own programs, not slurmstepd */
	struct step_key key;
	uint64_t request;	     /* serial, 0: none yet */
	int16_t tables[PEER_TABLES]; /* by the peer's number: the number in the request; -1: not
					declared */
	struct quota *quota;	     /* its user's; NULL: root */
	struct live_at live;
	bool wants_findings;
	unsigned findings;	  /* of its request: so many are sent */
	struct region_ring *ring; /* the ring of its process's regions; NULL: none */
	pid_t ring_pid;
	char *out; /* messages with their lengths in the heads */
	size_t out_len, out_at;
	uint64_t sent_ns;     /* when it last read something */
	uint64_t received_ns; /* of its last message */
	uint32_t watched;     /* events; 0: not in the epoll set */
	bool read_paused;  /* its messages are not read until its user's quota has filled again */
	bool write_closed; /* the peer has closed its end; its messages are still read */
	bool unread;	   /* more messages wait for it than are allowed */
	bool closing;
};

/* Takes over a socket. NULL: no memory; the socket is closed. admin_gid (gid_t)-1: there is no such
 * group. *pid becomes the process that has connected. */
struct peer *peer__new(int fd, gid_t admin_gid, pid_t *pid);
void peer__free(struct peer *p);

struct cgroup_roots;
/* Finds the step or job that the process which sent the message is in. */
void peer__locate(struct peer *p, const struct cgroup_roots *roots, pid_t pid);

/* Whether the peer has read all messages, and no answer to it is under way. */
bool peer__has_read_all(const struct peer *p);
/* Sends a message, or stores it until the peer reads. -EDQUOT: too much is stored for this user, or
 * for all. */
int peer__send(struct peer *p, const void *message, uint64_t now_ns);
/* Sends a message with descriptors now. -EAGAIN: the peer has messages to read first; -errno. */
int peer__send_fds(struct peer *p, const void *message, const int fds[FD_MESSAGE_FILES]);
/* Sends the answer to the message of that number. If that fails the peer is closed. */
void peer__reply(struct peer *p, uint16_t seq, struct jpc_reply *reply, uint64_t now_ns);
/* Sends messages that wait, until none is left or the peer must read first. -errno: the peer is
 * gone. */
int peer__flush(struct peer *p, uint64_t now_ns);
/* Drops messages that wait; nothing more is sent to the peer. */
void peer__close_write(struct peer *p);

/* Puts the text in the reply to a message. Returns err. */
int reply__refuse(struct jpc_reply *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- Messages that bring descriptors. A process that takes such a message out of the queue, or
 * closes the socket with its queue, may be the last to close a file of the sender, and the sender
 * decides how long that takes (SO_LINGER, a FUSE file system). From Linux 6.16 on such messages
 * cannot be sent to these sockets (SO_PASSRIGHTS); before, the message stays in the queue, and its
 * socket stays open until this process ends. */

/* Receives the next message as recvmsg(2) does. -EPROTO: it brings descriptors, and stays in the
 * queue. Other messages bring only credentials, for which msg must have exactly the room. */
ssize_t stuck__receive(int fd, struct msghdr *msg);
/* Closes a socket, unless such a message is in its queue. */
void stuck__close(int fd);
/* How many sockets stay open. The caller accepts no connections when these are too many. */
unsigned stuck__count(void);
/* Gives the sockets that stay open to another process, so that this one can end. */
void stuck__leave(void);

#endif
