// SPDX-License-Identifier: GPL-2.0-only
/* The helper's process, and the socket between it and the daemon: a message has a stack, or says
 * that the ring was empty. */
#include "daemon/lookup/unwinding.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/child.h"
#include "unwind/unwind.h"

#define MEMORY_MAX (1ull << 30)
#define BUFFER	   (1 << 20)
#define TAKE_MAX   512
#define SETTLE_NS  (100 * NSEC_PER_MSEC)
#define RING_FD	   STDOUT_FILENO
#define SOCKET_FD  STDIN_FILENO

struct message {
	struct jp_stack_key key; /* tgid 0: the ring was empty */
	struct jp_stack stack;
};

struct unwinding {
	pid_t pid; /* 0: it has ended */
	int fd;
	bool settled;
};

/* ---- the helper */

struct helper {
	struct unwinder *unwinder;
	struct message out;
};

static void send_message(const struct message *m)
{
	if (send(SOCKET_FD, m, sizeof(*m), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static int on_copy(void *ctx, void *data, size_t len)
{
	struct helper *h = ctx;

	if (len < sizeof(struct jp_stack_copy))
		return 0;
	unwinder__stack(h->unwinder, data, &h->out.key, &h->out.stack);
	send_message(&h->out);
	return 0;
}

/* Until the other end is closed. A byte asks for a message when the ring is empty. */
static void __attribute__((noreturn)) serve(void)
{
	static struct helper h;
	static const struct message empty;
	struct ring_buffer *ring;
	struct pollfd p[2] = {{.fd = SOCKET_FD, .events = POLLIN}, {.events = POLLIN}};

	h.unwinder = unwinder__new();
	ring = h.unwinder ? ring_buffer__new(RING_FD, on_copy, &h, NULL) : NULL;
	if (!ring)
		_exit(1);
	p[1].fd = ring_buffer__epoll_fd(ring);
	for (;;) {
		char byte;

		if (poll(p, 2, 1000) < 0)
			_exit(1);
		ring_buffer__consume(ring);
		if (!p[0].revents)
			continue;
		if (recv(SOCKET_FD, &byte, 1, 0) <= 0)
			_exit(0);
		ring_buffer__consume(ring);
		send_message(&empty);
	}
}

static void __attribute__((noreturn)) run_helper(int fd, int ring_fd, pid_t parent)
{
	const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX}, none = {};

	if (dup2(ring_fd, RING_FD) < 0 || dup2(fd, SOCKET_FD) < 0 ||
	    child__end_with(parent, SIGKILL))
		_exit(1);
	child__begin();
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_NAME, "jobprof-unwind");
	serve();
}

/* ---- the daemon */

int unwinding__start(struct unwinding **out, int ring_fd)
{
	struct unwinding *u = calloc(1, sizeof(*u));
	pid_t parent = getpid();
	int p[2], size = BUFFER;

	if (!u)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p)) {
		free(u);
		return -errno;
	}
	setsockopt(p[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	u->pid = fork();
	if (!u->pid)
		run_helper(p[1], ring_fd, parent);
	close(p[1]);
	u->fd = p[0];
	if (u->pid < 0) {
		close(p[0]);
		free(u);
		return -EAGAIN;
	}
	*out = u;
	return 0;
}

void unwinding__stop(struct unwinding *u)
{
	if (!u)
		return;
	if (u->pid)
		kill(u->pid, SIGKILL);
	close(u->fd);
	free(u);
}

int unwinding__fd(const struct unwinding *u)
{
	return u ? u->fd : -1;
}

void unwinding__take(struct unwinding *u,
		     void (*fn)(void *ctx, const struct jp_stack_key *key,
				const struct jp_stack *s),
		     void *ctx)
{
	static struct message m;

	for (unsigned i = 0; u && i < TAKE_MAX; i++) {
		if (recv(u->fd, &m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
			return;
		if (m.key.tgid)
			fn(ctx, &m.key, &m.stack);
		else
			u->settled = true;
	}
}

void unwinding__settle(struct unwinding *u,
		       void (*fn)(void *ctx, const struct jp_stack_key *key,
				  const struct jp_stack *s),
		       void *ctx)
{
	uint64_t now = clock__boot_ns(), end = now + SETTLE_NS;

	if (!u || !u->pid || send(u->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return;
	u->settled = false;
	for (; u->pid && !u->settled && now < end; now = clock__boot_ns()) {
		struct pollfd p = {.fd = u->fd, .events = POLLIN};

		if (poll(&p, 1, (int)((end - now) / NSEC_PER_MSEC) + 1) > 0 &&
		    !(p.revents & POLLIN))
			return;
		unwinding__take(u, fn, ctx);
	}
}

bool unwinding__reaped(struct unwinding *u, pid_t pid)
{
	if (!u || u->pid != pid)
		return false;
	u->pid = 0;
	log_warn("the helper that follows stacks has ended: stacks are by frame pointers until "
		 "jobprofd is started anew");
	return true;
}
