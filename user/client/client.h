/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection to jobprofd. Nothing here waits longer than it is told to, takes a signal, or needs
 * more than libc: it runs inside slurmstepd and inside users' programs. Not for two threads at
 * once.
 */
#ifndef JP_CLIENT_CLIENT_H
#define JP_CLIENT_CLIENT_H

#include <stddef.h>

#include "client/protocol.h"

/* Before the version, in every plugin and library of ours: --check-config looks for it there. */
#define CLIENT_VERSION_MARK "jobprof version: "

struct client {
	int fd; /* -1: not connected */
	uint16_t seq;
};

/* The path of the socket: given, else JOBPROF_SOCKET of the environment where that is honoured
 * (not by a process with more rights than its caller), else the built-in one. */
const char *client__path(const char *given);

/* 0; -ENOENT, -ECONNREFUSED: no jobprofd; -EAGAIN: it is too busy to take one more; -errno. */
int client__open(struct client *c, const char *path);
/* What was sent before arrives. More than once is fine. */
void client__close(struct client *c);
/* In a child of fork(2): closes, and the parent's connection is as it was. */
void client__forget(struct client *c);

/* Fills the head of a message of that type and whole length. */
void client__head(struct client *c, void *message, enum jpc_type type, size_t length);

/* Sends without waiting. -EAGAIN: jobprofd is behind, the message is not sent; -ENOTCONN, -EPIPE,
 * -ECONNRESET: it is gone. */
int client__send(struct client *c, const void *message);

/* Sends and waits for the REPLY of this very message, at most timeout_ms in all. 0: *reply is
 * there, its error may still be one; -ETIMEDOUT; -EPROTO: no valid answer; others as above. */
int client__call(struct client *c, void *message, struct jpc_reply *reply, unsigned timeout_ms);

/* The next message from jobprofd, of at most size bytes: its length, -ETIMEDOUT, -EPROTO or
 * -errno. */
int client__receive(struct client *c, void *buf, size_t size, unsigned timeout_ms);

/* The clock of these timeouts: monotonic. */
int64_t client__now_ms(void);

#endif
