/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection to jobprofd. The code runs inside slurmstepd and inside users' programs: it waits no
 * longer than its callers allow, handles no signal, and needs only libc. Two threads must not use
 * one connection at the same time.
 */
#ifndef JP_CLIENT_CLIENT_H
#define JP_CLIENT_CLIENT_H

#include <stddef.h>

#include "client/protocol.h"

/* Marks the version in every plugin and library of jobprof, so that --check-config finds it. */
#define CLIENT_VERSION_MARK "jobprof version: "

struct client {
	int fd; /* -1: not connected */
	uint16_t seq;
};

#define CLIENT_FDS 2 /* descriptors that come with a message, at most */

/* The path of the socket: `given`, else JOBPROF_SOCKET of the environment (not in a process with
 * more rights than its caller), else the built-in one. */
const char *client__path(const char *given);

/* 0; -ENOENT, -ECONNREFUSED: no jobprofd; -EAGAIN: jobprofd is too busy for one more connection;
 * -errno. */
int client__open(struct client *c, const char *path);
/* Closes the connection; messages sent before still arrive. A closed connection may be closed
 * again. */
void client__close(struct client *c);
/* In a child of fork(2): closes the descriptor; the parent's connection stays as it was. */
void client__forget(struct client *c);

/* Fills the head of a message of that type and whole length. */
void client__head(struct client *c, void *message, enum jpc_type type, size_t length);

/* Sends without waiting. -EAGAIN: jobprofd is too busy, and the message was not sent; -ENOTCONN,
 * -EPIPE, -ECONNRESET: the connection is gone. */
int client__send(struct client *c, const void *message);

/* Sends and waits for the REPLY to this very message, at most timeout_ms in all. 0: *reply is
 * filled, and its `error` says how the message was received; -ETIMEDOUT; -EPROTO: no valid answer;
 * others as above. */
int client__call(struct client *c, void *message, struct jpc_reply *reply, unsigned timeout_ms);

/* The next message from jobprofd, of at most size bytes: its length, -ETIMEDOUT, -EPROTO or
 * -errno. */
int client__receive(struct client *c, void *buf, size_t size, unsigned timeout_ms);
/* As client__receive(); fd[] are the descriptors that come with the message; -1: none. */
int client__receive_fds(struct client *c, void *buf, size_t size, unsigned timeout_ms,
			int fd[CLIENT_FDS]);
void client__close_fds(int fd[CLIENT_FDS]);

/* The clock of these timeouts: monotonic. */
int64_t client__now_ms(void);

#endif
