// SPDX-License-Identifier: GPL-2.0-only
/* The socket and its peers; what they say is control_messages.c's. */
#include "daemon/control.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/control_internal.h"

/* Of all users together, and of one; root's have the rest of the descriptors. */
#define USERS_MAX  2048
#define USER_MAX   512
#define FDS_WANTED 8192
#define ACCEPTS	   64 /* in one turn */
#define READS	   32 /* of one peer in one turn */
#define EVENTS	   64

/* The directory of the built-in path does not outlive a reboot. */
static void make_dir(const char *path)
{
	char dir[108];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = 0;
		mkdir(dir, 0755);
	}
}

/* A socket that nobody listens at any more. */
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

static int listen_at(struct control *c)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int on = 1, err;

	if (strlen(c->d->opts.cfg->socket) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, c->d->opts.cfg->socket);
	make_dir(addr.sun_path);
	c->epfd = epoll_create1(EPOLL_CLOEXEC);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->epfd < 0 || c->listener < 0)
		return -errno;
	err = bind_path(c->listener, &addr);
	if (err)
		return err;
	strcpy(c->path, addr.sun_path);
	if (chmod(c->path, 0666) ||
	    setsockopt(c->listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    listen(c->listener, 1024) || epoll_ctl(c->epfd, EPOLL_CTL_ADD, c->listener, &ev))
		return -errno;
	return 0;
}

static void find_admins(struct control *c)
{
	const char *name = c->d->opts.cfg->admin_group;
	struct group *g = name ? getgrnam(name) : NULL;

	c->admin_gid = g ? g->gr_gid : (gid_t)-1;
	if (name && !g)
		log_warn("AdminGroup=%s: there is no such group: only root sees all jobs", name);
}

int control__open(struct control **out, struct daemon *d)
{
	struct control *c = calloc(1, sizeof(*c));
	struct rlimit lim;
	int err;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->d = d;
	c->epfd = c->listener = -1;
	find_admins(c);
	err = listen_at(c);
	if (err) {
		log_error("cannot listen at %s: %s%s", d->opts.cfg->socket, strerror(-err),
			  err == -EADDRINUSE ? ": another jobprofd does; set Socket" : "");
		control__free(c, false);
		return err;
	}
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < FDS_WANTED) {
		lim.rlim_cur = lim.rlim_max < FDS_WANTED ? lim.rlim_max : FDS_WANTED;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	*out = c;
	return 0;
}

int control__fd(const struct control *c)
{
	return c ? c->epfd : -1;
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
	if (c->path[0] && !leave)
		unlink(c->path);
	if (c->listener >= 0)
		close(c->listener);
	if (c->epfd >= 0)
		close(c->epfd);
	free(c);
}

/* The length of a message whose sender the kernel vouches for; 0: nothing more now. */
static ssize_t receive(struct control *c, struct peer *p, struct ucred *who)
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
	ssize_t n = recvmsg(p->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	/* said once of a peer that has gone without reading its answers, before what it sent */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(p->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	m = CMSG_FIRSTHDR(&msg);
	if (!m || m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_CREDENTIALS ||
	    (msg.msg_flags & MSG_TRUNC))
		return -EPROTO;
	memcpy(who, CMSG_DATA(m), sizeof(*who));
	return n;
}

static bool well_formed(const struct control *c, ssize_t n)
{
	const struct jpc_head *h = (const void *)c->buf;

	return n >= (ssize_t)sizeof(*h) && h->magic == JPC_MAGIC && h->version == JPC_VERSION &&
	       h->length == n;
}

/* What it says, as far as its share of this turn goes. Who breaks the rules is put out. */
static void read_peer(struct control *c, struct peer *p, uint64_t now)
{
	struct ucred who = {};
	unsigned i;
	ssize_t n;

	for (i = 0; i < READS && !p->closing; i++) {
		n = receive(c, p, &who);
		if (!n)
			return;
		if (n < 0 || !well_formed(c, n) || who.uid != p->uid) {
			p->closing = true;
			if (n > 0 && log_every(&c->said_refused, 60))
				log_warn("a process of uid %u sent what is no message to %s",
					 p->uid, c->path);
			return;
		}
		peer__locate(p, c->d, who.pid);
		control_message(c, p, (const void *)c->buf, now);
	}
}

static void watch_output(struct control *c, struct peer *p)
{
	struct epoll_event ev = {.events = EPOLLIN | (p->out_len ? EPOLLOUT : 0), .data.ptr = p};

	epoll_ctl(c->epfd, EPOLL_CTL_MOD, p->fd, &ev);
}

static bool too_many(const struct control *c, uid_t uid)
{
	const struct peer *p;
	unsigned users = 0, same = 0;

	for (p = c->peers; uid && p; p = p->next) {
		users += p->uid != 0;
		same += p->uid == uid;
	}
	return users >= USERS_MAX || same >= USER_MAX;
}

/* What it has said already is taken at once: its step may be over by the next turn. */
static void accept_one(struct control *c, int fd, uint64_t now)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct peer *p = peer__new(fd, c->admin_gid);

	if (!p)
		return;
	ev.data.ptr = p;
	if (too_many(c, p->uid) || epoll_ctl(c->epfd, EPOLL_CTL_ADD, fd, &ev)) {
		if (log_every(&c->said_full, 60))
			log_warn("uid %u has too many connections to %s: one more is refused",
				 p->uid, c->path);
		peer__free(p);
		return;
	}
	p->next = c->peers;
	c->peers = p;
	c->npeers++;
	read_peer(c, p, now);
	if (p->out_len)
		watch_output(c, p);
}

static void accept_peers(struct control *c, uint64_t now)
{
	unsigned i;
	int fd;

	for (i = 0; i < ACCEPTS; i++) {
		fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		accept_one(c, fd, now);
	}
}

static void serve(struct control *c, struct peer *p, uint32_t events, uint64_t now)
{
	bool waited = p->out_len;

	if (events & EPOLLOUT && peer__flush(p, now) < 0)
		p->closing = true;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_peer(c, p, now);
	if (waited != !!p->out_len)
		watch_output(c, p);
}

static void drop_closing(struct control *c, uint64_t now)
{
	struct peer **at = &c->peers;

	while (*at) {
		struct peer *p = *at;

		if (!p->closing && !(p->out_len && now - p->out_ns > PEER_SLOW_NS)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		c->npeers--;
		peer__free(p);
	}
}

void control__turn(struct control *c, uint64_t now)
{
	struct epoll_event ev[EVENTS];
	bool accepted = false;
	int i, n = epoll_wait(c->epfd, ev, EVENTS, 0);

	for (i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			serve(c, ev[i].data.ptr, ev[i].events, now);
		else
			accepted = true;
	}
	if (accepted)
		accept_peers(c, now);
	drop_closing(c, now);
}
