// SPDX-License-Identifier: GPL-2.0-only
/* The helpers, and the questions that wait for them. */
#include "daemon/lookup.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/child.h"

#define HELPERS_MAX 4
#define LEFT_MAX    64 /* that were killed and have not ended; beyond, no helper is started */
#define QUEUE_MAX   8192
#define PATIENCE_NS (2 * NSEC_PER_SEC)
#define IDLE_NS	    (5 * NSEC_PER_SEC) /* then a helper may go */
/* So often a party may hang a helper before it is not asked about for so long, and so many may hang
 * for it at once: what waits for a file system may not be killable before that answers. */
#define HANGS_MAX  3
#define BARRED_NS  (60 * NSEC_PER_SEC)
#define BARRED_MAX 64

struct helper {
	pid_t pid; /* 0: none, or it has ended */
	int fd;	   /* -1: no helper */
	bool busy;
	struct lookup q;
	uint64_t since_ns; /* asked, or idle */
};

struct waiting {
	struct waiting *next;
	struct lookup q;
};

/* What may be slow for its own reasons: a user's processes, Slurm's, the name service. */
struct party {
	enum { PARTY_NONE, PARTY_USER, PARTY_STEPD, PARTY_NAMES } kind;
	uid_t uid;
};

/* A helper that is to end. */
struct left {
	pid_t pid;
	struct party party; /* that it is to look at, if any */
};

struct barred {
	struct party party;
	unsigned hangs;
	uint64_t until_ns;
};

struct lookups {
	lookup_answered_fn *answered;
	void *ctx;
	int epfd;
	struct helper helpers[HELPERS_MAX];
	struct left left[LEFT_MAX];
	unsigned nleft;
	struct waiting *queue, **tail;
	unsigned nqueued;
	bool fresh; /* there are questions that nobody has looked at */
	struct barred barred[BARRED_MAX];
	unsigned nbarred;
	struct log_limit said, said_left;
	struct lookup_answer answer;
};

static struct party party_of(const struct lookup *q)
{
	switch (q->kind) {
	case LOOKUP_STEPD:
		return (struct party){PARTY_STEPD, 0};
	case LOOKUP_USER:
		return (struct party){PARTY_NAMES, 0};
	default:
		return (struct party){PARTY_USER, q->uid};
	}
}

static bool same_party(const struct party *a, const struct party *b)
{
	return a->kind == b->kind && a->uid == b->uid;
}

int lookups__new(struct lookups **out, lookup_answered_fn *answered, void *ctx)
{
	struct lookups *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (!l)
		return -ENOMEM;
	for (unsigned i = 0; i < HELPERS_MAX; i++)
		l->helpers[i].fd = -1;
	l->answered = answered;
	l->ctx = ctx;
	l->tail = &l->queue;
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0) {
		free(l);
		return -errno;
	}
	*out = l;
	return 0;
}

/* One that is at rest ends by itself, when its socket does. */
static void let_go(struct lookups *l, struct helper *h)
{
	close(h->fd);
	h->fd = -1;
	if (h->pid && l->nleft < LEFT_MAX)
		l->left[l->nleft++] =
			(struct left){h->pid, h->busy ? party_of(&h->q) : (struct party){}};
	h->pid = 0;
	h->busy = false;
}

void lookups__free(struct lookups *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < HELPERS_MAX; i++) {
		if (l->helpers[i].fd < 0)
			continue;
		if (l->helpers[i].pid)
			kill(l->helpers[i].pid, SIGKILL);
		let_go(l, &l->helpers[i]);
	}
	while (l->queue) {
		struct waiting *w = l->queue;

		l->queue = w->next;
		free(w);
	}
	close(l->epfd);
	free(l);
}

int lookups__fd(const struct lookups *l)
{
	return l ? l->epfd : -1;
}

static void __attribute__((noreturn)) begin_helper(int fd, pid_t parent)
{
	/* the lowest that is not a standard one: child__begin() closes those above */
	if (dup2(fd, STDIN_FILENO) < 0 || child__end_with(parent, SIGKILL))
		_exit(1);
	child__begin();
	lookup__serve(STDIN_FILENO);
}

static struct helper *start_helper(struct lookups *l)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct helper *h = NULL;
	pid_t parent = getpid();
	int p[2];

	for (unsigned i = 0; i < HELPERS_MAX && !h; i++)
		h = l->helpers[i].fd < 0 ? &l->helpers[i] : NULL;
	if (!h || l->nleft + HELPERS_MAX > LEFT_MAX)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p))
		return NULL;
	ev.data.ptr = h;
	h->pid = epoll_ctl(l->epfd, EPOLL_CTL_ADD, p[0], &ev) ? -1 : fork();
	if (!h->pid)
		begin_helper(p[1], parent);
	close(p[1]);
	if (h->pid < 0) {
		h->pid = 0;
		close(p[0]);
		return NULL;
	}
	h->fd = p[0];
	h->busy = false;
	h->since_ns = clock__boot_ns();
	return h;
}

static struct helper *idle_helper(struct lookups *l)
{
	for (unsigned i = 0; i < HELPERS_MAX; i++)
		if (l->helpers[i].fd >= 0 && !l->helpers[i].busy)
			return &l->helpers[i];
	return start_helper(l);
}

void lookups__prepare(struct lookups *l)
{
	if (l)
		idle_helper(l);
}

int lookups__ask(struct lookups *l, const struct lookup *q)
{
	struct waiting *w;

	if (!l || l->nqueued >= QUEUE_MAX)
		return -EBUSY;
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->q = *q;
	w->next = NULL;
	*l->tail = w;
	l->tail = &w->next;
	l->nqueued++;
	l->fresh = true;
	return 0;
}

static void answer_error(struct lookups *l, const struct lookup *q, int err)
{
	memset(&l->answer, 0, offsetof(struct lookup_answer, pids));
	l->answer.err = err;
	l->answered(l->ctx, q, &l->answer);
}

static struct barred *find_barred(struct lookups *l, const struct party *p)
{
	for (unsigned i = 0; i < l->nbarred; i++)
		if (same_party(&l->barred[i].party, p))
			return &l->barred[i];
	return NULL;
}

static bool is_barred(struct lookups *l, const struct party *p, uint64_t now)
{
	const struct barred *b = find_barred(l, p);
	unsigned n = 0;

	for (unsigned i = 0; i < l->nleft; i++)
		n += same_party(&l->left[i].party, p);
	if (n >= HANGS_MAX)
		return true;
	return b && b->hangs >= HANGS_MAX && now < b->until_ns;
}

static void count_hang(struct lookups *l, const struct party *p, uint64_t now)
{
	struct barred *b = find_barred(l, p);

	if (!b) {
		b = &l->barred[l->nbarred < BARRED_MAX ? l->nbarred++ : now % BARRED_MAX];
		*b = (struct barred){.party = *p};
	}
	b->hangs++;
	b->until_ns = now + BARRED_NS;
	if (!log_every(&l->said, 60))
		return;
	if (p->kind == PARTY_NAMES)
		log_warn("the name service gives no answer: directories have numbers of users "
			 "where their names are not known");
	else
		log_warn("a process of %s%u cannot be read, its memory map is locked: its task "
			 "has no number and its step no attributes from there",
			 p->kind == PARTY_STEPD ? "slurmstepd, uid " : "uid ", p->uid);
}

/* It is slow at times, and does not hang. */
static void forgive(struct lookups *l, const struct lookup *q)
{
	struct party p = party_of(q);
	struct barred *b = find_barred(l, &p);

	if (b)
		b->hangs = 0;
}

static void kill_hung(struct lookups *l, struct helper *h, uint64_t now)
{
	struct lookup q = h->q;
	struct party p = party_of(&q);

	if (h->pid)
		kill(h->pid, SIGKILL);
	let_go(l, h);
	count_hang(l, &p, now);
	answer_error(l, &q, -ETIMEDOUT);
}

/* Its helper was killed, by whom ever; or it is what a helper dies of. */
static void ask_another(struct lookups *l, struct lookup *q)
{
	if (q->again) {
		answer_error(l, q, -EIO);
		return;
	}
	q->again = true;
	if (lookups__ask(l, q))
		answer_error(l, q, -EIO);
}

static void receive(struct lookups *l, struct helper *h, uint64_t now)
{
	struct lookup q = h->q;
	bool busy = h->busy;
	ssize_t n = recv(h->fd, &l->answer, sizeof(l->answer), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < (ssize_t)offsetof(struct lookup_answer, pids) ||
	    n != (ssize_t)lookup_answer__size(&l->answer)) {
		if (n > 0 && h->pid)
			kill(h->pid, SIGKILL);
		let_go(l, h);
		if (busy)
			ask_another(l, &q);
		return;
	}
	h->busy = false;
	h->since_ns = now;
	if (!busy)
		return;
	forgive(l, &q);
	l->answered(l->ctx, &q, &l->answer);
}

static bool is_served(const struct lookups *l, const struct party *p)
{
	for (unsigned i = 0; i < HELPERS_MAX; i++) {
		struct party other = party_of(&l->helpers[i].q);

		if (l->helpers[i].fd >= 0 && l->helpers[i].busy && same_party(&other, p))
			return true;
	}
	return false;
}

static void take_out(struct lookups *l, struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (!w->next)
		l->tail = at;
	l->nqueued--;
}

/* False: it is not to be had now. The helper's time begins when it is asked, however long ago this
 * turn of the loop began. */
static bool hand_out(struct lookups *l, const struct lookup *q)
{
	struct helper *h = idle_helper(l);

	if (!h)
		return false;
	h->q = *q;
	h->busy = true;
	h->since_ns = clock__boot_ns();
	/* one that has just died says so by its socket, and that answers the question */
	send(h->fd, q, sizeof(*q), MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

static bool all_hang(struct lookups *l)
{
	for (unsigned i = 0; i < HELPERS_MAX; i++)
		if (l->helpers[i].fd >= 0)
			return false;
	if (l->nleft + HELPERS_MAX <= LEFT_MAX)
		return false;
	if (log_every(&l->said_left, 60))
		log_error("%u helpers hang and cannot be killed: no process is asked about until "
			  "some have ended",
			  l->nleft);
	return true;
}

static void hand_out_all(struct lookups *l, uint64_t now)
{
	struct waiting **at = &l->queue;

	while (*at) {
		struct waiting *w = *at;
		struct party p = party_of(&w->q);
		bool barred = is_barred(l, &p, now) || all_hang(l);

		if (barred || (!is_served(l, &p) && hand_out(l, &w->q))) {
			take_out(l, at);
			if (barred)
				answer_error(l, &w->q, -EBUSY);
			free(w);
		} else {
			at = &w->next;
		}
	}
}

void lookups__turn(struct lookups *l, uint64_t now_ns)
{
	for (unsigned i = 0; l && i < HELPERS_MAX; i++) {
		struct helper *h = &l->helpers[i];

		if (h->fd >= 0)
			receive(l, h, now_ns);
		if (h->fd >= 0 && h->busy && now_ns >= h->since_ns + PATIENCE_NS)
			kill_hung(l, h, now_ns);
		else if (h->fd >= 0 && !h->busy && now_ns >= h->since_ns + IDLE_NS)
			let_go(l, h);
	}
	if (!l)
		return;
	l->fresh = false;
	hand_out_all(l, now_ns);
}

uint64_t lookups__due(const struct lookups *l)
{
	uint64_t t = l && l->fresh ? 0 : UINT64_MAX;

	for (unsigned i = 0; l && i < HELPERS_MAX; i++) {
		const struct helper *h = &l->helpers[i];
		uint64_t due = h->since_ns + (h->busy ? PATIENCE_NS : IDLE_NS);

		if (h->fd >= 0 && due < t)
			t = due;
	}
	return t;
}

bool lookups__reaped(struct lookups *l, pid_t pid)
{
	for (unsigned i = 0; l && i < l->nleft; i++) {
		if (l->left[i].pid != pid)
			continue;
		l->left[i] = l->left[--l->nleft];
		return true;
	}
	for (unsigned i = 0; l && i < HELPERS_MAX; i++) {
		if (l->helpers[i].pid != pid)
			continue;
		l->helpers[i].pid = 0; /* its socket says the rest */
		return true;
	}
	return false;
}
