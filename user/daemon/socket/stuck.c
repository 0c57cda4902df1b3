// SPDX-License-Identifier: GPL-2.0-only
/* Sockets with messages that cannot be received without waiting for their sender. */
#include "daemon/socket/stuck.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/child/child.h"

static int stuck[4096]; /* twice as many as there may be connections */
static unsigned nstuck;
static struct log_limit log_stuck;

ssize_t stuck__receive(int fd, struct msghdr *msg)
{
	ssize_t n = recvmsg(fd, msg, MSG_DONTWAIT | MSG_PEEK);

	/* reported once for a peer that has gone without reading its answers, before the messages
	 * that it sent */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(fd, msg, MSG_DONTWAIT | MSG_PEEK);
	if (n < 0)
		return -errno;
	if (msg->msg_flags & MSG_CTRUNC)
		return -EPROTO;
	recv(fd, NULL, 0, MSG_DONTWAIT);
	return n;
}

/* Whether the messages that are there, which stay as they are, are all without descriptors. */
static bool can_be_emptied(int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	bool is_one;
	ssize_t n;

	do {
		struct msghdr msg = {.msg_control = &control, .msg_controllen = sizeof(control)};

		n = stuck__receive(fd, &msg);
		is_one = msg.msg_controllen; /* every message has credentials, the end has none */
	} while (n >= 0 && is_one);
	return n != -EPROTO;
}

void stuck__close(int fd)
{
	shutdown(fd, SHUT_RDWR); /* no more come */
	if (can_be_emptied(fd) || nstuck == sizeof(stuck) / sizeof(*stuck)) {
		close(fd);
		return;
	}
	stuck[nstuck++] = fd;
	if (log_every(&log_stuck, 60))
		log_warn("a process sent descriptors to the socket, where none is asked for: its "
			 "connection stays open, %u so far",
			 nstuck);
}

unsigned stuck__count(void)
{
	return nstuck;
}

void stuck__leave(void)
{
	pid_t parent = getpid();

	if (!nstuck || fork())
		return;
	signal(SIGTERM, SIG_DFL);
	if (!child__end_with(parent, SIGKILL))
		pause();
	_exit(0);
}
