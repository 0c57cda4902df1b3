/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobprofd's end of its socket, for tests of what talks to it. */
#ifndef JP_TEST_LISTENER_H
#define JP_TEST_LISTENER_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/protocol.h"

struct listener {
	char path[96];
	int fd;
	pthread_t thread;
	const void
		*packets[8]; /* of the thread: sent when a message has come, NULL after the last */
	size_t lengths[8];
	char heard[JPC_MAX]; /* that message */
	ssize_t heard_length;
};

static inline void listener__listen(struct listener *of)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", of->path);
	of->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(of->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(of->fd, 8), 0);
}

static inline void listener__deaf(struct listener *of)
{
	if (of->fd >= 0)
		close(of->fd);
	of->fd = -1;
	unlink(of->path);
}

static struct listener l;

/* A setup: nobody listens yet. */
static inline int listener_begin(void **state)
{
	memset(&l, 0, sizeof(l));
	strcpy(l.path, in_dir("sock"));
	l.fd = -1;
	return 0;
}

static inline int listener_end(void **state)
{
	listener__deaf(&l);
	return 0;
}

/* A client that has connected already, or does so now. */
static inline int listener__accept(struct listener *of)
{
	int fd = accept4(of->fd, NULL, NULL, SOCK_CLOEXEC);

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
	struct listener *of = arg;
	int fd = accept4(of->fd, NULL, NULL, SOCK_CLOEXEC);
	char end;

	of->heard_length = recv(fd, of->heard, sizeof(of->heard), 0);
	for (int i = 0; i < 8 && of->packets[i]; i++)
		send(fd, of->packets[i], of->lengths[i], MSG_NOSIGNAL);
	/* Until the client has read them and gone. */
	while (recv(fd, &end, 1, 0) > 0)
		;
	close(fd);
	return NULL;
}

#endif
