// SPDX-License-Identifier: GPL-2.0-or-later
/* The helper process, the daemon's side of it, and the socket between them. A message has a stack,
 * or tells that the ring was empty. */
#include "daemon/lookup/unwinding.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/child/child.h"
#include "pool/confine.h"
#include "pool/pool.h"
#include "unwind/code_source.h"
#include "unwind/unwind.h"

#define MEMORY_MAX (1ull << 30)
#define BUFFER	   (1 << 20)
#define TAKE_MAX   512
#define RING_MAX   2048 /* copies; the ring has no room for more */
#define KILLED_MAX 32	/* beyond, no helper is started: a parent may wait for a lock for ever */
#define SUSPECTS   64
#define SETTLE_NS  (100 * NSEC_PER_MSEC)
#define ASK_NS	   (1 * NSEC_PER_SEC)
#define ANSWER_S   10 /* time in which the helper has to follow the stacks in the ring */
#define PAUSE_S	   1  /* before another is started; twice as long each time, but for ... */
#define PAUSES	   6
#define FINE_NS	   (60 * NSEC_PER_SEC) /* ... one that has lived for so long */
#define RING_FD	   STDOUT_FILENO
#define SOCKET_FD  STDIN_FILENO

struct followed {
	struct jp_stack_key key; /* tgid 0: the ring was empty */
	struct jp_stack stack;
};

/* Whose stack is being followed. */
struct followee {
	uint32_t tgid; /* 0: nobody's */
	uint64_t job;  /* jp_stack_copy.job */
};

/* A user's jobs, by one of them, of whose processes a stack was being followed when a helper ended.
 * They may have any number of processes, and others wait for the next helper. */
struct suspect {
	uint64_t job;
	uint32_t tgid;	/* the last one */
	unsigned ended; /* helpers; from the second on none looks at the jobs' processes */
};

struct unwinding {
	int fd, helper_fd, ring_fd;
	struct followee *now; /* shared with the helper */
	struct suspect suspects[SUSPECTS];
	unsigned nsuspects;
	pid_t pid;		  /* of the helper's parent; 0: there is none */
	pid_t killed[KILLED_MAX]; /* those that gave no answer and have not ended */
	unsigned nkilled;
	unsigned asked;	   /* questions without an answer */
	uint64_t asked_ns; /* the first of them, else the last one */
	uint64_t start_ns; /* of the helper, or when there will be one */
	unsigned ended;	   /* helpers in a row that did not live long */
};

static struct suspect *find_suspect(struct unwinding *u, uint64_t job)
{
	for (unsigned i = 0; i < u->nsuspects && i < SUSPECTS; i++)
		if (u->suspects[i].job == job)
			return &u->suspects[i];
	return NULL;
}

/* ---- the helper, which has copies of all that the daemon knows */

struct helper {
	struct unwinding *u;
	struct unwinder *unwinder;
	struct followed out;
	unsigned left; /* copies until the socket is looked at */
};

static void send_message(const struct followed *m)
{
	if (send(SOCKET_FD, m, sizeof(*m), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static int on_copy(void *ctx, void *data, size_t len)
{
	struct helper *h = ctx;
	const struct jp_stack_copy *c = data;
	const struct suspect *s;

	if (len < sizeof(*c))
		return 0;
	s = find_suspect(h->u, c->job);
	*h->u->now = (struct followee){c->key.tgid, c->job};
	unwinder__stack(s && s->ended > 1 ? NULL : h->unwinder, c, &h->out.key, &h->out.stack);
	h->u->now->tgid = 0;
	send_message(&h->out);
	return --h->left ? 0 : -EAGAIN;
}

static void follow(struct helper *h, struct ring_buffer *ring)
{
	h->left = RING_MAX;
	ring_buffer__consume(ring);
}

/* Until the other end is closed. A byte asks for a message when the ring is empty. */
static void __attribute__((noreturn)) serve(struct unwinding *u, int source)
{
	static struct helper h;
	static const struct followed empty;
	struct ring_buffer *ring;
	struct pollfd p[2] = {{.fd = SOCKET_FD, .events = POLLIN}, {.events = POLLIN}};
	pid_t parent = getppid();

	h.u = u;
	h.unwinder = unwinder__new(source);
	ring = h.unwinder ? ring_buffer__new(RING_FD, on_copy, &h, NULL) : NULL;
	if (!ring || child__become_helper() || child__end_with(parent, SIGKILL) ||
	    pool__confine(MEMORY_MAX))
		_exit(1);
	p[1].fd = ring_buffer__epoll_fd(ring);
	for (;;) {
		char byte;

		if (poll(p, 2, -1) < 0)
			_exit(1);
		follow(&h, ring);
		if (!p[0].revents)
			continue;
		if (recv(SOCKET_FD, &byte, 1, 0) <= 0)
			_exit(0);
		follow(&h, ring);
		send_message(&empty);
	}
}

/* Opens files as root and parses none, until the helper ends. */
static void __attribute__((noreturn)) run_parent(struct unwinding *u, pid_t daemon)
{
	int p[2];
	pid_t helper;

	if (dup2(u->ring_fd, RING_FD) < 0 || dup2(u->helper_fd, SOCKET_FD) < 0 ||
	    child__end_with(daemon, SIGKILL))
		_exit(1);
	child__begin();
	prctl(PR_SET_NAME, "jobprof-unwind");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p))
		_exit(1);
	helper = fork();
	if (!helper) {
		close(p[0]);
		serve(u, p[1]);
	}
	close(p[1]);
	close(SOCKET_FD);
	close(RING_FD);
	prctl(PR_SET_NAME, "jobprof-code");
	/* it stays root, whom file systems of others know, with rights that only read */
	if (helper > 0 && !confine__process(CONFINE_CODE))
		code_source__serve(p[0]);
	_exit(0);
}

/* ---- the daemon */

static void start_helper(struct unwinding *u, uint64_t now)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		run_parent(u, parent);
	u->pid = pid > 0 ? pid : 0;
	u->start_ns = pid > 0 ? now : now + PAUSE_S * NSEC_PER_SEC;
	u->asked = 0;
	u->asked_ns = now;
}

int unwinding__start(struct unwinding **out, int ring_fd)
{
	struct unwinding *u = calloc(1, sizeof(*u));
	int p[2], size = BUFFER;

	if (!u)
		return -ENOMEM;
	u->now = pool__share(sizeof(*u->now));
	if (!u->now || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p)) {
		pool__unshare(u->now, sizeof(*u->now));
		free(u);
		return -errno;
	}
	setsockopt(p[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	u->fd = p[0];
	u->helper_fd = p[1];
	u->ring_fd = ring_fd;
	start_helper(u, clock__boot_ns());
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
	close(u->helper_fd);
	pool__unshare(u->now, sizeof(*u->now));
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
	static struct followed m;

	for (unsigned i = 0; u && i < TAKE_MAX; i++) {
		if (recv(u->fd, &m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
			return;
		m.stack.n = 1; /* the helper is not trusted */
		if (m.key.tgid)
			fn(ctx, &m.key, &m.stack);
		else
			u->asked -= u->asked > 0;
	}
}

static bool ask(struct unwinding *u, uint64_t now)
{
	if (send(u->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return false;
	if (!u->asked++)
		u->asked_ns = now;
	return true;
}

void unwinding__settle(struct unwinding *u,
		       void (*fn)(void *ctx, const struct jp_stack_key *key,
				  const struct jp_stack *s),
		       void *ctx)
{
	uint64_t now = clock__boot_ns(), end = now + SETTLE_NS;

	if (!u || !u->pid || !ask(u, now))
		return;
	for (; u->asked && now < end; now = clock__boot_ns()) {
		struct pollfd p = {.fd = u->fd, .events = POLLIN};

		poll(&p, 1, (int)((end - now) / NSEC_PER_MSEC) + 1);
		unwinding__take(u, fn, ctx);
	}
}

/* The job of the process whose stack is being followed, if any. */
static struct suspect *blame(struct unwinding *u)
{
	const struct followee whose = *u->now;
	struct suspect *s = find_suspect(u, whose.job);

	u->now->tgid = 0;
	if (!whose.tgid)
		return NULL;
	if (!s) {
		s = &u->suspects[u->nsuspects++ % SUSPECTS];
		*s = (struct suspect){.job = whose.job};
	}
	s->tgid = whose.tgid;
	s->ended++;
	return s;
}

/* Whether it is known of whom it was. */
static bool log_end(struct unwinding *u, const char *how)
{
	const struct suspect *s = blame(u);
	char of[96] = "";

	if (s)
		snprintf(of, sizeof(of), " at a stack of process %u%s", s->tgid,
			 s->ended > 1
				 ? ", and stacks of its user's jobs have one function from now on"
				 : "");
	log_warn("the helper that follows stacks %s%s: another one is started, and while there is "
		 "none, stacks are by frame pointers when the ring of copies is full",
		 how, of);
	return s;
}

/* There is no helper now. blamed: the next helper need not wait, since jobs are blamed only a
 * limited number of times. */
static void begin_pause(struct unwinding *u, uint64_t now, bool blamed)
{
	u->pid = 0;
	if (blamed) {
		u->start_ns = now;
		return;
	}
	u->ended = now - u->start_ns < FINE_NS ? u->ended + 1 : 0;
	u->start_ns = now + ((PAUSE_S * NSEC_PER_SEC) << (u->ended < PAUSES ? u->ended : PAUSES));
}

/* The helper ends with its parent. */
static void kill_parent(struct unwinding *u, uint64_t now)
{
	bool blamed = log_end(u, "gave no answer and was ended");

	kill(u->pid, SIGKILL);
	u->killed[u->nkilled++] = u->pid;
	begin_pause(u, now, blamed);
}

void unwinding__watch(struct unwinding *u, uint64_t now_ns)
{
	if (!u)
		return;
	if (!u->pid) {
		if (now_ns >= u->start_ns && u->nkilled < KILLED_MAX)
			start_helper(u, now_ns);
	} else if (u->asked && now_ns > u->asked_ns + ANSWER_S * NSEC_PER_SEC) {
		kill_parent(u, now_ns);
	} else if (!u->asked && now_ns > u->asked_ns + ASK_NS) {
		ask(u, now_ns);
	}
}

bool unwinding__reaped(struct unwinding *u, pid_t pid, uint64_t now_ns)
{
	for (unsigned i = 0; u && i < u->nkilled; i++) {
		if (u->killed[i] != pid)
			continue;
		u->killed[i] = u->killed[--u->nkilled];
		return true;
	}
	if (!u || u->pid != pid)
		return false;
	begin_pause(u, now_ns, log_end(u, "has ended"));
	return true;
}
