/* SPDX-License-Identifier: GPL-2.0-only */
/* jobprofd's end of its socket, for tests of what talks to it. */
#ifndef JP_TEST_LISTENER_H
#define JP_TEST_LISTENER_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/protocol.h"

struct listener {
	char dir[64];
	char path[96];
	int fd;
	pthread_t thread;
	const void
		*packets[8]; /* of the thread: sent when a message has come, NULL after the last */
	size_t lengths[8];
	char heard[JPC_MAX]; /* that message */
	ssize_t heard_length;
};

static inline void listener__listen(struct listener *l)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", l->path);
	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(l->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(l->fd, 8), 0);
}

static inline void listener__init(struct listener *l)
{
	memset(l, 0, sizeof(*l));
	strcpy(l->dir, "/tmp/jobprof-unit.XXXXXX");
	assert_non_null(mkdtemp(l->dir));
	snprintf(l->path, sizeof(l->path), "%s/sock", l->dir);
	l->fd = -1;
}

static inline void listener__deaf(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	unlink(l->path);
}

static inline void listener__free(struct listener *l)
{
	listener__deaf(l);
	rmdir(l->dir);
}

/* A client that has connected already, or does so now. */
static inline int listener__accept(struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* What was sent already, -1 if nothing was. */
static inline ssize_t listener__take(int fd, void *buf, size_t size)
{
	return recv(fd, buf, size, MSG_DONTWAIT);
}

static inline void listener__reply(int fd, unsigned seq, int error, unsigned number)
{
	struct jpc_reply r = {.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(r), 0, seq},
			      .error = error,
			      .number = number,
			      .text = "because"};

	assert_int_equal(send(fd, &r, sizeof(r), 0), sizeof(r));
}

static inline void *listener__answer_one(void *arg)
{
	struct listener *l = arg;
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	char end;

	l->heard_length = recv(fd, l->heard, sizeof(l->heard), 0);
	for (int i = 0; i < 8 && l->packets[i]; i++)
		send(fd, l->packets[i], l->lengths[i], MSG_NOSIGNAL);
	/* Until the client has read them and gone. */
	while (recv(fd, &end, 1, 0) > 0)
		;
	close(fd);
	return NULL;
}

#endif
