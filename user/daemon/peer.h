/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection to the socket: who is there, its tables, what it has yet to read. */
#ifndef JP_DAEMON_PEER_H
#define JP_DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/request.h"

#define PEER_TABLES  128
#define PEER_OUT_MAX (4u << 20) /* bytes that wait for a slow reader */
#define PEER_SLOW_NS (5 * 1000 * 1000 * 1000ull)

struct peer {
	struct peer *next;
	int fd;
	uid_t uid;   /* of all its messages, or it is put out */
	bool admin;  /* in the configured group */
	pid_t pid;   /* of the last message */
	bool placed; /* its cgroup is in a step, or in a job's directory */
	bool in_step;
	bool in_task; /* one of the job's own programs, not slurmstepd */
	struct place place;
	uint64_t request;	     /* serial, 0: none yet */
	int16_t tables[PEER_TABLES]; /* its numbers to those of the request, -1: not declared */
	char *out;		     /* messages with their lengths in the heads */
	size_t out_len, out_at;
	uint64_t out_ns; /* when it last read something */
	bool closing;
};

/* Takes over the socket. NULL: no memory; the socket is closed. admin_gid (gid_t)-1: none. */
struct peer *peer__new(int fd, gid_t admin_gid);
void peer__free(struct peer *p);

struct daemon;
/* Where the process that sent the message is. */
void peer__locate(struct peer *p, const struct daemon *d, pid_t pid);

/* Sends, or keeps what does not fit yet. -E2BIG: too much waits. */
int peer__send(struct peer *p, const void *message, uint64_t now_ns);
/* Goes on with what waits. 0: nothing does any more; 1: something does; -errno: it is gone. */
int peer__flush(struct peer *p, uint64_t now_ns);

#endif
