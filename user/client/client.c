// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a connection to jobprofd, sends messages and waits for answers. */
#include "client/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char version[] __attribute__((used)) = CLIENT_VERSION_MARK JOBPROF_VERSION;

const char *client__path(const char *given)
{
	const char *env = given ? NULL : secure_getenv("JOBPROF_SOCKET");

	return given ? given : env && *env ? env : JPC_SOCKET;
}

static int connect_to(struct client *c, const char *path, const char *suffix)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int err;

	*c = (struct client){.fd = -1};
	if (strlen(path) + strlen(suffix) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	strcat(addr.sun_path, suffix);
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	if (!connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	err = -errno;
	client__close(c);
	return err;
}

/* Users cannot fill root's own socket. */
int client__open(struct client *c, const char *path)
{
	return !geteuid() && !connect_to(c, path, JPC_SOCKET_ROOT) ? 0 : connect_to(c, path, "");
}

void client__close(struct client *c)
{
	char rest[256];

	if (c->fd < 0)
		return;
	/* An unread answer would make jobprofd's next recv() fail, before our last messages. */
	shutdown(c->fd, SHUT_RD);
	while (recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	client__forget(c);
}

void client__forget(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void client__head(struct client *c, void *message, enum jpc_type type, size_t length)
{
	struct jpc_head *h = message;

	*h = (struct jpc_head){.magic = JPC_MAGIC,
			       .version = JPC_VERSION,
			       .type = type,
			       .length = length,
			       .seq = ++c->seq};
}

int client__send(struct client *c, const void *message)
{
	const struct jpc_head *h = message;
	ssize_t n;

	if (c->fd < 0)
		return -ENOTCONN;
	do {
		n = send(c->fd, message, h->length, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int64_t client__now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* 0: readable, or at its end. */
static int wait_until(int fd, int64_t end_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = end_ms - client__now_ms();
		int n = poll(&p, 1, left < 0 ? 0 : (int)left);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (left <= 0)
			return -ETIMEDOUT;
	}
}

static void take_fds(struct msghdr *msg, int fd[CLIENT_FDS])
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m; m = CMSG_NXTHDR(msg, m))
		if (m->cmsg_level == SOL_SOCKET && m->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(m), m->cmsg_len - CMSG_LEN(0));
}

/* Without a place for a descriptor the kernel drops it. */
static ssize_t receive_now(int from, void *buf, size_t size, int fd[CLIENT_FDS])
{
	union {
		char buf[CMSG_SPACE(CLIENT_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = buf, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = fd ? &control : NULL,
			     .msg_controllen = fd ? sizeof(control) : 0};
	ssize_t n = recvmsg(from, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (fd && n >= 0)
		take_fds(&msg, fd);
	return n;
}

static int receive_until(struct client *c, void *buf, size_t size, int64_t end_ms,
			 int fd[CLIENT_FDS])
{
	const struct jpc_head *h = buf;
	ssize_t n;
	int err;

	if (c->fd < 0)
		return -ENOTCONN;
	do {
		err = wait_until(c->fd, end_ms);
		if (err)
			return err;
		n = receive_now(c->fd, buf, size, fd);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return -errno;
	if (!n)
		return -ECONNRESET;
	if ((size_t)n > size || (size_t)n < sizeof(*h) || h->magic != JPC_MAGIC ||
	    h->version != JPC_VERSION || h->length != n)
		return -EPROTO;
	return (int)n;
}

int client__receive(struct client *c, void *buf, size_t size, unsigned timeout_ms)
{
	return receive_until(c, buf, size, client__now_ms() + timeout_ms, NULL);
}

void client__close_fds(int fd[CLIENT_FDS])
{
	for (int i = 0; i < CLIENT_FDS; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

int client__receive_fds(struct client *c, void *buf, size_t size, unsigned timeout_ms,
			int fd[CLIENT_FDS])
{
	int n;

	for (int i = 0; i < CLIENT_FDS; i++)
		fd[i] = -1;
	n = receive_until(c, buf, size, client__now_ms() + timeout_ms, fd);
	if (n < 0)
		client__close_fds(fd);
	return n;
}

int client__call(struct client *c, void *message, struct jpc_reply *reply, unsigned timeout_ms)
{
	struct jpc_head *h = message;
	int64_t end_ms = client__now_ms() + timeout_ms;
	int n;

	h->flags |= JPC_F_REPLY;
	n = client__send(c, message);
	if (n)
		return n;
	do { /* answers to earlier messages, which were not waited for */
		n = receive_until(c, reply, sizeof(*reply), end_ms, NULL);
		if (n < 0)
			return n;
	} while (reply->head.type != JPC_REPLY || reply->head.seq != h->seq);
	if (n != sizeof(*reply))
		return -EPROTO;
	reply->text[sizeof(reply->text) - 1] = 0;
	return 0;
}
