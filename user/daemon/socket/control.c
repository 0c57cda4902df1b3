/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket and its peers: connections, quotas, reading; control_messages.c handles what is read.
 */
#include "daemon/socket/control.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/follow/follow.h"
#include "daemon/socket/control_internal.h"
#include "daemon/socket/peer.h"

/* ---- a listening socket: bound in place of a dead one, paused and closed */

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* The directory of the built-in path does not outlive a reboot. */
static void make_dir(const char *path)
{
	char dir[108];
	char *slash;

	if (str__copy(dir, sizeof(dir), path))
		return;
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = 0;
		if (!mkdir(dir, 0755))
			chmod(dir, 0755); /* whatever the umask */
	}
}

/* Binds the path, in place of a socket at which no process listens any more. */
static int bind_path(int fd, const struct sockaddr_un *addr)
{
	int probe;

	if (!bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe >= 0 && (!connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) ||
			   errno != ECONNREFUSED)) {
		close(probe);
		return -EADDRINUSE;
	}
	if (probe >= 0)
		close(probe);
	unlink(addr->sun_path);
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
}

/* Listens at path, in place of a dead jobprofd's socket. -ENAMETOOLONG; -EADDRINUSE: another one
 * lives; -errno. listener_close() is due in any case. */
static int listener_open(struct listener *l, const char *path, mode_t mode)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int on = 1, off = 0, err;

	*l = (struct listener){.fd = -1, .epfd = -1};
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	make_dir(path);
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->epfd < 0 || l->fd < 0)
		return -errno;
	/* the file's mode is the socket's when it is bound: never more than mode for a moment */
	if (fchmod(l->fd, mode))
		return -errno;
	err = bind_path(l->fd, &addr);
	if (err)
		return err;
	strcpy(l->path, path);
	setsockopt(l->fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off)); /* of Linux 6.16 */
	if (chmod(path, mode) || setsockopt(l->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    listen(l->fd, 1024) || epoll_ctl(l->epfd, EPOLL_CTL_ADD, l->fd, &ev))
		return -errno;
	return 0;
}

static void listener_pause(struct listener *l, bool paused)
{
	struct epoll_event ev = {.events = paused ? 0 : EPOLLIN, .data.ptr = NULL};

	if (l->paused != paused && !epoll_ctl(l->epfd, EPOLL_CTL_MOD, l->fd, &ev))
		l->paused = paused;
}

/* Those whose processes have connected, and may have sent something. */
static void refuse_waiting(int listener)
{
	int fd;

	shutdown(listener, SHUT_RDWR);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		stuck__close(fd);
}

/* leave: the socket's file stays. */
static void listener_close(struct listener *l, bool leave)
{
	if (l->path[0] && !leave)
		unlink(l->path);
	if (l->fd >= 0) {
		refuse_waiting(l->fd);
		close(l->fd);
	}
	if (l->epfd >= 0)
		close(l->epfd);
}

#define ACCEPTS	     64			  /* in one turn */
#define READS	     32			  /* of one peer in one turn */
#define EVENTS	     64			  /* of one listener */
#define RING_RECORDS 65536		  /* of all rings in one turn: some 20 ms */
#define SNDBUF	     16384		  /* of a user's: answers that the kernel keeps */
#define PAUSE_NS     (50 * NSEC_PER_MSEC) /* until quotas are checked again */
#define CHECK_NS \
	(1000 *  \
	 NSEC_PER_MSEC) /* between two checks for peers that leave messages unread or are idle */

static void find_admins(struct control *c)
{
	const char *name = c->d->opts.cfg->admin_group;
	struct group *g = name ? getgrnam(name) : NULL;

	c->admin_gid = g ? g->gr_gid : (gid_t)-1;
	if (name && !g)
		log_warn("AdminGroup=%s: there is no such group: only root sees all jobs", name);
}

/* The user need not be there; nor is a directory of users asked, which may hang. */
static void find_metrics_user(struct control *c)
{
	const char *name = c->d->opts.cfg->metrics_user;
	FILE *f = name ? fopen("/etc/passwd", "re") : NULL;
	const struct passwd *p;
	uint32_t uid;

	c->metrics_uid = (uid_t)-1;
	if (name && !parse_u32(name, &uid))
		c->metrics_uid = uid;
	while (f && c->metrics_uid == (uid_t)-1 && (p = fgetpwent(f)))
		if (!strcmp(p->pw_name, name))
			c->metrics_uid = p->pw_uid;
	if (f)
		fclose(f);
}

static int open_listeners(struct control *c)
{
	static const mode_t modes[LISTENERS] = {[LISTENER_ROOT] = 0600, [LISTENER_ALL] = 0666};
	const char *socket = c->d->opts.cfg->socket;
	struct epoll_event ev = {.events = EPOLLIN};
	char path[120];
	int i, err;

	c->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epfd < 0)
		return -errno;
	/* the socket for all users first: it shows whether another jobprofd lives */
	for (i = LISTENERS - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "%.110s%s", socket,
			 i == LISTENER_ROOT ? JPC_SOCKET_ROOT : "");
		err = listener_open(&c->listeners[i], path, modes[i]);
		if (err)
			return err;
		if (epoll_ctl(c->epfd, EPOLL_CTL_ADD, c->listeners[i].epfd, &ev))
			return -errno;
	}
	return 0;
}

int control__open(struct control **out, struct daemon *d)
{
	struct control *c = calloc(1, sizeof(*c));
	int i, err;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->d = d;
	c->programs.fd = -1;
	c->epfd = -1;
	c->resume_ns = c->check_ns = UINT64_MAX;
	for (i = 0; i < LISTENERS; i++)
		c->listeners[i] = (struct listener){.fd = -1, .epfd = -1};
	quotas__init(&c->quotas, d->files, clock__boot_ns());
	find_admins(c);
	find_metrics_user(c);
	err = open_listeners(c);
	if (err) {
		log_error("cannot listen at %s: %s%s", d->opts.cfg->socket, strerror(-err),
			  err == -EADDRINUSE ? ": another jobprofd does; set Socket" : "");
		control__free(c, false);
		return err;
	}
	*out = c;
	return 0;
}

int control__fd(const struct control *c)
{
	return c ? c->epfd : -1;
}

uint64_t control__due(const struct control *c)
{
	if (!c)
		return UINT64_MAX;
	return c->resume_ns < c->check_ns ? c->resume_ns : c->check_ns;
}

void control__free(struct control *c, bool leave)
{
	if (!c)
		return;
	while (c->peers) {
		struct peer *p = c->peers;

		c->peers = p->next;
		peer__free(p);
	}
	quotas__free(&c->quotas);
	outbuf__end(&c->programs);
	for (int i = 0; i < LISTENERS; i++)
		listener_close(&c->listeners[i], leave);
	stuck__leave();
	if (c->epfd >= 0)
		close(c->epfd);
	free(c);
}

/* The length of a message whose sender the kernel vouches for; 0: nothing more now. */
static ssize_t receive_message(struct control *c, struct peer *p, struct ucred *cred)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = c->buf, .iov_len = sizeof(c->buf)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *m;
	ssize_t n = stuck__receive(p->fd, &msg);

	if (n < 0)
		return n == -EAGAIN || n == -EINTR ? 0 : n;
	if (!n)
		return -ECONNRESET;
	m = CMSG_FIRSTHDR(&msg);
	if (!m || m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_CREDENTIALS ||
	    (msg.msg_flags & MSG_TRUNC))
		return -EPROTO;
	memcpy(cred, CMSG_DATA(m), sizeof(*cred));
	return n;
}

static bool is_message(const struct control *c, ssize_t n)
{
	const struct jpc_head *h = (const void *)c->buf;

	return n >= (ssize_t)sizeof(*h) && h->magic == JPC_MAGIC && h->version == JPC_VERSION &&
	       h->length == n;
}

/* A user whose quota is used up waits: the kernel keeps the messages of the user's peers, and
 * send() fails there when the kernel can keep no more. */
static bool may_read(struct control *c, struct peer *p, uint64_t now)
{
	if (p->closing || !peer__has_read_all(p))
		return false;
	p->read_paused = !quota__may_work(p->quota, now);
	if (p->read_paused && p->quota->tokens <= 0 && log_every(&c->log_busy, 60))
		log_warn("uid %u sends more to %s than %u messages a second: what is more waits",
			 p->uid, c->listeners[LISTENER_ALL].path, (unsigned)p->quota->limits->rate);
	return !p->read_paused;
}

/* Reads messages of the peer, at most READS in this turn. A peer that breaks the protocol is
 * removed. */
static void read_peer(struct control *c, struct peer *p, uint64_t now)
{
	struct ucred cred = {};
	unsigned i;
	ssize_t n;

	for (i = 0; i < READS && may_read(c, p, now); i++) {
		n = receive_message(c, p, &cred);
		if (!n)
			return;
		if (n < 0 || !is_message(c, n) || cred.uid != p->uid) {
			p->closing = true;
			if (n > 0 && log_every(&c->log_refused, 60))
				log_warn("a process of uid %u sent what is no message to %s",
					 p->uid, c->listeners[LISTENER_ALL].path);
			return;
		}
		p->received_ns = now;
		quota__charge(p->quota, 1);
		peer__locate(p, &c->d->cgroups, cred.pid);
		control_messages__handle(c, p, (const void *)c->buf, now);
	}
}

static int epfd_of(const struct control *c, const struct peer *p)
{
	return c->listeners[p->quota ? LISTENER_ALL : LISTENER_ROOT].epfd;
}

/* Watches only for events that would be handled now. */
static void watch_peer(struct control *c, struct peer *p)
{
	struct epoll_event ev = {.data.ptr = p};
	int epfd = epfd_of(c, p);

	if (p->out_len)
		ev.events = EPOLLOUT;
	else if (!p->read_paused)
		ev.events = EPOLLIN;
	if (ev.events == p->watched)
		return;
	if (epoll_ctl(epfd,
		      !ev.events    ? EPOLL_CTL_DEL
		      : !p->watched ? EPOLL_CTL_ADD
				    : EPOLL_CTL_MOD,
		      p->fd, &ev))
		p->closing = true;
	p->watched = ev.events;
}

static void serve_peer(struct control *c, struct peer *p, uint64_t now)
{
	if (p->out_len && peer__flush(p, now) < 0)
		peer__close_write(p);
	if (p->live.on && !p->out_len)
		control_live__continue(c, p, now);
	read_peer(c, p, now);
	watch_peer(c, p);
}

/* That of the user whose step the process is in, who may have any number of ids there (subuid(5)).
 */
static struct quota *find_quota(struct control *c, struct peer *p, pid_t pid, uint64_t now)
{
	const struct step *s = NULL;

	peer__locate(p, &c->d->cgroups, pid);
	if (p->in_step)
		s = request_match__find_step(c->d->steps, &p->key);
	return quotas__of_user(&c->quotas, s && s->uid_known ? s->uid : p->uid, s, now);
}

/* Makes a peer of the connection. NULL: refused. */
static struct peer *accept_peer(struct control *c, int fd, uint64_t now)
{
	pid_t pid;
	struct peer *p = peer__new(fd, c->admin_gid, &pid);
	int size = SNDBUF;
	struct quota *u;

	if (!p || !p->uid)
		return p;
	u = find_quota(c, p, pid, now);
	if (!u || !quota__connect(u)) {
		if (log_every(&c->log_full, 60))
			log_warn("uid %u has too many connections to %s: one more is refused",
				 p->uid, c->listeners[LISTENER_ALL].path);
		peer__free(p);
		return NULL;
	}
	p->quota = u;
	quota__charge(u, QUOTA_ACCEPT + QUOTA_LOCATE);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return p;
}

/* A connection that waits to be accepted would wake the loop again at once. */
static void cannot_accept(struct control *c, int which, int err)
{
	if (err != EMFILE && err != ENFILE && err != ENOBUFS && err != ENOMEM)
		return;
	if (log_every(&c->log_paused, 60))
		log_error("%s: no connection is taken now: %s", c->listeners[which].path,
			  strerror(err));
	listener_pause(&c->listeners[which], true);
}

/* Messages that new peers have sent already are read at once: their step may be over by the next
 * turn. */
static void accept_peers(struct control *c, int which, uint64_t now)
{
	struct quota *accepts = which == LISTENER_ALL ? &c->quotas.accepts : NULL;
	struct peer *p;
	unsigned i;
	int fd;

	for (i = 0; i < ACCEPTS && quota__may_work(accepts, now); i++) {
		if (accepts && stuck__count() >= c->quotas.of_all.peers / 2) {
			cannot_accept(c, which, EMFILE);
			return;
		}
		fd = accept4(c->listeners[which].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			cannot_accept(c, which, errno);
			return;
		}
		quota__charge(accepts, 1);
		p = accept_peer(c, fd, now);
		if (!p)
			continue;
		p->received_ns = now;
		p->next = c->peers;
		c->peers = p;
		serve_peer(c, p, now);
	}
}

static void serve_listener(struct control *c, int which, uint64_t now)
{
	struct epoll_event ev[EVENTS];
	bool accepted = false;
	int i, n = epoll_wait(c->listeners[which].epfd, ev, EVENTS, 0);

	for (i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve_peer(c, ev[i].data.ptr, now);
		else
			accepted = true;
	}
	if (accepted)
		accept_peers(c, which, now);
}

static bool leaves_unread(struct control *c, const struct peer *p, uint64_t now)
{
	if (!p->unread && !(p->out_len && now - p->sent_ns > PEER_UNREAD_NS))
		return false;
	if (log_every(&c->log_unread, 60))
		log_warn("a process of uid %u asks %s and does not read: put out (so were %llu "
			 "since this was last said)",
			 p->uid, c->listeners[LISTENER_ALL].path,
			 (unsigned long long)c->log_unread.skipped);
	return true;
}

static bool is_idle(const struct peer *p, uint64_t now)
{
	return p->quota && !p->located && !p->read_paused && peer__has_read_all(p) &&
	       now - p->received_ns > PEER_IDLE_NS;
}

/* Closing it would not end the watch: a child that has just been forked may have the socket too. */
static void remove_peer(struct control *c, struct peer *p, uint64_t now)
{
	control_ring__read(c, p, now, true);
	if (p->watched)
		epoll_ctl(epfd_of(c, p), EPOLL_CTL_DEL, p->fd, NULL);
	peer__free(p);
}

/* Removes peers that are closing, leave messages unread or are idle, and sets the time of the next
 * check. */
static void remove_peers(struct control *c, uint64_t now)
{
	struct peer **at = &c->peers;
	bool waits = c->listeners[LISTENER_ROOT].paused || c->listeners[LISTENER_ALL].paused;

	while (*at) {
		struct peer *p = *at;

		if (p->closing || leaves_unread(c, p, now) || is_idle(p, now)) {
			*at = p->next;
			remove_peer(c, p, now);
			continue;
		}
		waits |= p->read_paused;
		at = &p->next;
	}
	if (waits && c->resume_ns == UINT64_MAX)
		c->resume_ns = now + PAUSE_NS;
	quotas__tidy(&c->quotas, now);
	c->check_ns = c->quotas.users ? now + CHECK_NS : UINT64_MAX;
}

/* Quotas that were used up may have filled again. */
static void resume_peers(struct control *c, uint64_t now)
{
	struct peer *p;
	int i;

	c->resume_ns = UINT64_MAX;
	for (p = c->peers; p; p = p->next)
		if (p->read_paused)
			serve_peer(c, p, now);
	for (i = 0; i < LISTENERS; i++)
		listener_pause(&c->listeners[i], false);
}

/* All rings, the first of them another one each time where the turn does not allow for all. */
void control__read_rings(struct control *c, uint64_t now)
{
	unsigned first = c ? c->ring_peer : 0;

	if (!c)
		return;
	c->ring_records = RING_RECORDS;
	c->ring_peer = 0;
	for (int pass = 0; pass < 2; pass++) {
		unsigned at = 0;

		for (struct peer *p = c->peers; p && !c->ring_peer; p = p->next, at++) {
			if ((at < first) != pass)
				continue;
			control_ring__read(c, p, now, false);
			if (!c->ring_records)
				c->ring_peer = at + 1;
		}
	}
}

void control__read_last(struct control *c, const struct step *s, uint64_t now)
{
	for (struct peer *p = c && s->req ? c->peers : NULL; p; p = p->next)
		if (p->request == s->req->serial)
			control_ring__read(c, p, now, true);
}

void control__turn(struct control *c, uint64_t now)
{
	int i;

	c->ring_records = RING_RECORDS;
	if (now >= c->resume_ns)
		resume_peers(c, now);
	for (i = 0; i < LISTENERS; i++)
		serve_listener(c, i, now);
	if (!quota__may_work(&c->quotas.accepts, now))
		listener_pause(&c->listeners[LISTENER_ALL], true);
	remove_peers(c, now);
}
