/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helper processes, and the questions that wait for them. */
#include "daemon/lookup/lookup.h"

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
#include "daemon/child/child.h"
#include "pool/confine.h"

/* ---- names and groups of users, kept for a while */

#define KNOWN_NS   (300 * NSEC_PER_SEC)
#define UNKNOWN_NS (60 * NSEC_PER_SEC)

static struct user *find_user(struct users *u, uid_t uid)
{
	for (unsigned i = 0; i < USERS_KEPT; i++)
		if (u->kept[i].state != USER_FREE && u->kept[i].uid == uid)
			return &u->kept[i];
	return NULL;
}

static struct user *oldest_user(struct users *u)
{
	struct user *old = &u->kept[0];

	for (unsigned i = 0; i < USERS_KEPT; i++) {
		if (u->kept[i].state == USER_FREE)
			return &u->kept[i];
		if (u->kept[i].at_ns < old->at_ns)
			old = &u->kept[i];
	}
	return old;
}

static bool is_fresh(const struct user *e, uint64_t now_ns)
{
	return now_ns < e->at_ns + (e->state == USER_KNOWN ? KNOWN_NS : UNKNOWN_NS);
}

const struct user *users__find(struct users *u, struct lookups *l, uid_t uid, uint64_t now_ns,
			       int *err)
{
	struct lookup q = {.kind = LOOKUP_USER, .uid = uid};
	struct user *e = find_user(u, uid);
	bool known = e && e->state == USER_KNOWN;

	*err = e && e->state == USER_ASKED ? -EAGAIN : known ? 0 : -ENOENT;
	if (e && is_fresh(e, now_ns))
		return known ? e : NULL;
	if (lookups__ask(l, &q))
		return known ? e : NULL;
	if (known) { /* the old answer is used until there is a newer one */
		e->at_ns = now_ns;
		return e;
	}
	e = e ? e : oldest_user(u);
	*e = (struct user){.state = USER_ASKED, .uid = uid, .at_ns = now_ns};
	*err = -EAGAIN;
	return NULL;
}

void users__answered(struct users *u, uid_t uid, const struct lookup_answer *a, uint64_t now_ns)
{
	struct user *e = find_user(u, uid);

	if (!e || (e->state == USER_KNOWN && a->err && a->err != -ENOENT))
		return;
	e->state = a->err ? USER_UNKNOWN : USER_KNOWN;
	e->at_ns = now_ns;
	e->gid = a->gid;
	memcpy(e->name, a->name, sizeof(e->name));
}

/* The most helpers that a target may hang, in a row or at once: a helper that waits for a file
 * system may not be killable before the file system answers. */
#define LOOKUP_HANGS_MAX   3
#define LOOKUP_BLOCKED_MAX 64

struct lookup_target {
	enum { TARGET_NONE, TARGET_USER, TARGET_PROGRAM, TARGET_STEPD, TARGET_NAMES } kind;
	uid_t uid;
};

struct lookup_hangs {
	struct lookup_blocked {
		struct lookup_target target;
		unsigned hangs; /* in a row */
		uint64_t until_ns;
	} blocked[LOOKUP_BLOCKED_MAX];
	unsigned nblocked;
	struct log_limit log;
};

/* ---- which targets of lookups hang their helpers, and for how long they are not asked about */

#define BLOCKED_NS (60 * NSEC_PER_SEC)

static struct lookup_target target_of(const struct lookup *q)
{
	switch (q->kind) {
	case LOOKUP_STEPD:
		return (struct lookup_target){TARGET_STEPD, 0};
	case LOOKUP_USER:
		return (struct lookup_target){TARGET_NAMES, 0};
	case LOOKUP_PROGRAM:
	case LOOKUP_LIBRARIES:
	case LOOKUP_MAPS:
		return (struct lookup_target){TARGET_PROGRAM, q->uid};
	default:
		return (struct lookup_target){TARGET_USER, q->uid};
	}
}

static bool target_equal(const struct lookup_target *a, const struct lookup_target *b)
{
	return a->kind == b->kind && a->uid == b->uid;
}

static struct lookup_blocked *find_blocked(struct lookup_hangs *h, const struct lookup_target *p)
{
	for (unsigned i = 0; i < h->nblocked; i++)
		if (target_equal(&h->blocked[i].target, p))
			return &h->blocked[i];
	return NULL;
}

/* A helper that was reading the target was killed. Logs. */
static void hangs_count(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns)
{
	struct lookup_blocked *b = find_blocked(h, p);

	if (!b) {
		b = &h->blocked[h->nblocked < LOOKUP_BLOCKED_MAX ? h->nblocked++
								 : now_ns % LOOKUP_BLOCKED_MAX];
		*b = (struct lookup_blocked){.target = *p};
	}
	b->hangs++;
	b->until_ns = now_ns + BLOCKED_NS;
	if (!log_every(&h->log, 60))
		return;
	if (p->kind == TARGET_NAMES)
		log_warn("the name service gives no answer: directories have numbers of users "
			 "where their names are not known");
	else if (p->kind == TARGET_PROGRAM)
		log_warn("a process of uid %u cannot be read, its memory map is locked or the file "
			 "system of its program does not answer: the attributes Executable and "
			 "... Libraries of its task are missing",
			 p->uid);
	else
		log_warn("a process of %s%u cannot be read, its memory map is locked: its task "
			 "has no number and its step no attributes from there",
			 p->kind == TARGET_STEPD ? "slurmstepd, uid " : "uid ", p->uid);
}

/* The target has answered: so it is slow sometimes, but does not hang. */
static void hangs_clear(struct lookup_hangs *h, const struct lookup_target *p)
{
	struct lookup_blocked *b = find_blocked(h, p);

	if (b)
		b->hangs = 0;
}

/* The target gets no questions now. */
static bool hangs_blocks(struct lookup_hangs *h, const struct lookup_target *p, uint64_t now_ns)
{
	const struct lookup_blocked *b = find_blocked(h, p);

	return b && b->hangs >= LOOKUP_HANGS_MAX && now_ns < b->until_ns;
}

#define HELPERS_MAX 4
#define KILLED_MAX  64 /* that have not ended; beyond, no helper is started */
#define QUEUE_MAX   8192
#define TIMEOUT_NS  (2 * NSEC_PER_SEC)
#define IDLE_NS	    (5 * NSEC_PER_SEC) /* an idle helper is ended after that */

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

/* A helper that was killed or closed, and has not ended yet. */
struct killed_helper {
	pid_t pid;
	struct lookup_target target; /* of its last question, if any */
};

struct lookups {
	lookup_answered_fn *answered;
	void *ctx;
	int epfd;
	struct helper helpers[HELPERS_MAX];
	struct killed_helper killed[KILLED_MAX];
	unsigned nkilled;
	struct waiting *queue, **tail;
	unsigned nqueued;
	bool has_new; /* there are questions since the last turn */
	struct lookup_hangs hangs;
	struct log_limit log_killed;
	struct lookup_answer answer;
};

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

/* An idle helper ends when its socket is closed. */
static void close_helper(struct lookups *l, struct helper *h)
{
	close(h->fd);
	h->fd = -1;
	if (h->pid && l->nkilled < KILLED_MAX)
		l->killed[l->nkilled++] = (struct killed_helper){
			h->pid, h->busy ? target_of(&h->q) : (struct lookup_target){}};
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
		close_helper(l, &l->helpers[i]);
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

static void __attribute__((noreturn)) run_helper(int fd, pid_t parent)
{
	/* child__begin() closes all descriptors above the standard ones */
	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(1);
	child__begin();
	if (child__become_helper() || child__end_with(parent, SIGKILL) ||
	    confine__process(CONFINE_LOOKUP))
		_exit(1);
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
	if (!h || l->nkilled + HELPERS_MAX > KILLED_MAX)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p))
		return NULL;
	ev.data.ptr = h;
	h->pid = epoll_ctl(l->epfd, EPOLL_CTL_ADD, p[0], &ev) ? -1 : fork();
	if (!h->pid)
		run_helper(p[1], parent);
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
	l->has_new = true;
	return 0;
}

static void answer_error(struct lookups *l, const struct lookup *q, int err)
{
	memset(&l->answer, 0, offsetof(struct lookup_answer, pids));
	l->answer.err = err;
	l->answered(l->ctx, q, &l->answer);
}

static bool is_blocked(struct lookups *l, const struct lookup_target *p, uint64_t now)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->nkilled; i++)
		n += target_equal(&l->killed[i].target, p);
	return n >= LOOKUP_HANGS_MAX || hangs_blocks(&l->hangs, p, now);
}

static void kill_hung(struct lookups *l, struct helper *h, uint64_t now)
{
	struct lookup q = h->q;
	struct lookup_target p = target_of(&q);

	if (h->pid)
		kill(h->pid, SIGKILL);
	close_helper(l, h);
	hangs_count(&l->hangs, &p, now);
	answer_error(l, &q, -ETIMEDOUT);
}

/* The helper of the question was killed, or the question makes helpers crash: one more helper is
 * asked. */
static void ask_other_helper(struct lookups *l, struct lookup *q)
{
	if (q->again) {
		answer_error(l, q, -EIO);
		return;
	}
	q->again = true;
	if (lookups__ask(l, q))
		answer_error(l, q, -EIO);
}

static void receive_answer(struct lookups *l, struct helper *h, uint64_t now)
{
	struct lookup q = h->q;
	struct lookup_target target;
	bool busy = h->busy;
	ssize_t n = recv(h->fd, &l->answer, sizeof(l->answer), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < (ssize_t)offsetof(struct lookup_answer, pids) ||
	    n != (ssize_t)lookup_answer__size(&l->answer)) {
		if (n > 0 && h->pid)
			kill(h->pid, SIGKILL);
		close_helper(l, h);
		if (busy)
			ask_other_helper(l, &q);
		return;
	}
	h->busy = false;
	h->since_ns = now;
	if (!busy)
		return;
	target = target_of(&q);
	hangs_clear(&l->hangs, &target);
	l->answered(l->ctx, &q, &l->answer);
}

/* Questions about programs, of whichever users, have one helper in all, and wait for answers about
 * tasks: so a short step needs one helper. */
static bool must_wait(const struct lookup_target *asked, const struct lookup_target *p)
{
	return target_equal(asked, p) ||
	       (p->kind == TARGET_PROGRAM &&
		(asked->kind == TARGET_PROGRAM || asked->kind == TARGET_USER));
}

static bool is_served(const struct lookups *l, const struct lookup_target *p)
{
	for (unsigned i = 0; i < HELPERS_MAX; i++) {
		struct lookup_target other = target_of(&l->helpers[i].q);

		if (l->helpers[i].fd >= 0 && l->helpers[i].busy && must_wait(&other, p))
			return true;
	}
	return false;
}

static void dequeue(struct lookups *l, struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (!w->next)
		l->tail = at;
	l->nqueued--;
}

/* False: no helper is free. The time limit begins when the helper is asked, however long ago this
 * turn of the loop began. */
static bool ask_helper(struct lookups *l, const struct lookup *q)
{
	struct helper *h = idle_helper(l);

	if (!h)
		return false;
	h->q = *q;
	h->busy = true;
	h->since_ns = clock__boot_ns();
	/* the socket of a helper that has just died reports it, and that answers the question */
	send(h->fd, q, sizeof(*q), MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

static bool all_helpers_hang(struct lookups *l)
{
	for (unsigned i = 0; i < HELPERS_MAX; i++)
		if (l->helpers[i].fd >= 0)
			return false;
	if (l->nkilled + HELPERS_MAX <= KILLED_MAX)
		return false;
	if (log_every(&l->log_killed, 60))
		log_error("%u helpers hang and cannot be killed: no process is asked about until "
			  "some have ended",
			  l->nkilled);
	return true;
}

static void ask_helpers(struct lookups *l, uint64_t now)
{
	struct waiting **at = &l->queue;

	while (*at) {
		struct waiting *w = *at;
		struct lookup_target p = target_of(&w->q);
		bool blocked = is_blocked(l, &p, now) || all_helpers_hang(l);

		if (blocked || (!is_served(l, &p) && ask_helper(l, &w->q))) {
			dequeue(l, at);
			if (blocked)
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
			receive_answer(l, h, now_ns);
		if (h->fd >= 0 && h->busy && now_ns >= h->since_ns + TIMEOUT_NS)
			kill_hung(l, h, now_ns);
		else if (h->fd >= 0 && !h->busy && now_ns >= h->since_ns + IDLE_NS)
			close_helper(l, h);
	}
	if (!l)
		return;
	l->has_new = false;
	ask_helpers(l, now_ns);
}

uint64_t lookups__due(const struct lookups *l)
{
	uint64_t t = l && l->has_new ? 0 : UINT64_MAX;

	for (unsigned i = 0; l && i < HELPERS_MAX; i++) {
		const struct helper *h = &l->helpers[i];
		uint64_t due = h->since_ns + (h->busy ? TIMEOUT_NS : IDLE_NS);

		if (h->fd >= 0 && due < t)
			t = due;
	}
	return t;
}

bool lookups__reaped(struct lookups *l, pid_t pid)
{
	for (unsigned i = 0; l && i < l->nkilled; i++) {
		if (l->killed[i].pid != pid)
			continue;
		l->killed[i] = l->killed[--l->nkilled];
		return true;
	}
	for (unsigned i = 0; l && i < HELPERS_MAX; i++) {
		if (l->helpers[i].pid != pid)
			continue;
		l->helpers[i].pid = 0; /* the socket reports the end */
		return true;
	}
	return false;
}
