/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One connection to the socket: its user, its step, and messages that wait for it. */
#include "daemon/socket/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "daemon/child/child.h"
#include "daemon/config/cgroup_roots.h"

/* ---- sockets with messages that cannot be received without waiting for their sender */

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

static bool in_group(int fd, gid_t group)
{
	gid_t groups[256];
	socklen_t len = sizeof(groups);
	struct ucred cred;
	socklen_t cred_len = sizeof(cred);
	size_t i;

	if (group == (gid_t)-1)
		return false;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) && cred.gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

struct peer *peer__new(int fd, gid_t admin_gid, pid_t *pid)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct ucred cred;
	socklen_t len = sizeof(cred);
	unsigned i;

	if (!p || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len)) {
		free(p);
		stuck__close(fd);
		return NULL;
	}
	p->fd = fd;
	p->uid = cred.uid;
	*pid = cred.pid;
	p->admin = !cred.uid || in_group(fd, admin_gid);
	for (i = 0; i < PEER_TABLES; i++)
		p->tables[i] = -1;
	return p;
}

void peer__free(struct peer *p)
{
	if (!p)
		return;
	stuck__close(p->fd);
	region_ring__free(p->ring);
	quota__release(p->quota, p->out_len);
	if (p->quota)
		quota__disconnect(p->quota);
	free(p->out);
	free(p);
}

/* Returns the path in the line of /proc/<pid>/cgroup for the root's hierarchy, or NULL. */
static const char *line_path(char *line, const struct kern_root *r)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL, *word, *save;

	if (!path)
		return NULL;
	*path++ = 0;
	list++;
	if (!*list || !r->controller[0])
		return !*list && !r->controller[0] ? path : NULL;
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (!strcmp(word, r->controller))
			return path;
	return NULL;
}

static bool find_key(const struct cgroup_roots *roots, const struct kern_root *r, const char *path,
		     struct peer *p)
{
	struct cgroup_ids ids;

	if (layout__parse_rows(roots->layout, roots->nlayouts, path, strlen(r->prefix), &ids) ||
	    ids.row->family == LAYOUT_PATTERN || !ids.job_end ||
	    ids.job_end >= sizeof(p->key.job_path))
		return false;
	memset(&p->key, 0, sizeof(p->key));
	p->key.hier = r->hier;
	memcpy(p->key.job_path, path, ids.job_end);
	p->key.step_id = ids.has_step ? ids.step_id : STEP_NONE;
	p->key.het_comp = ids.has_step ? ids.het_comp : -1;
	p->key.job_id = ids.has_job ? ids.job_id : JPC_UNKNOWN;
	str__copy(p->key.node, sizeof(p->key.node), ids.node);
	p->in_step = ids.has_step;
	p->in_task = ids.has_step && !ids.is_stepd;
	return true;
}

void peer__locate(struct peer *p, const struct cgroup_roots *roots, pid_t pid)
{
	char file[64], text[8192], *line, *save;
	unsigned i;

	if (p->pid == pid)
		return;
	quota__charge(p->quota, QUOTA_LOCATE);
	p->pid = pid;
	p->located = p->in_step = p->in_task = false;
	if (p->uid) /* root: slurmstepd may send through a child */
		p->request = 0;
	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	for (i = 0; i < roots->nroots && !p->in_step; i++) {
		if (read_file(AT_FDCWD, file, text, sizeof(text)) < 0)
			return;
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			const char *path = line_path(line, &roots->root[i]);

			if (path && find_key(roots, &roots->root[i], path, p))
				p->located = true;
		}
	}
}

static int send_now(const struct peer *p, const char *message)
{
	const struct jpc_head *h = (const void *)message;
	ssize_t n;

	do {
		n = send(p->fd, message, h->length, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

bool peer__has_read_all(const struct peer *p)
{
	return !p->out_len && !p->live.on;
}

int peer__send(struct peer *p, const void *message, uint64_t now_ns)
{
	const struct jpc_head *h = message;
	size_t padded = (h->length + 7) & ~7u;
	char *out;
	int err = p->write_closed ? 0 : p->out_len ? -EAGAIN : send_now(p, message);

	if (err != -EAGAIN)
		return err;
	if (!quota__hold(p->quota, padded)) {
		p->unread = true;
		return -EDQUOT;
	}
	out = realloc(p->out, p->out_len + padded);
	if (!out) {
		quota__release(p->quota, padded);
		return -ENOMEM;
	}
	if (!p->out_len)
		p->sent_ns = now_ns;
	p->out = out;
	memcpy(out + p->out_len, message, h->length);
	p->out_len += padded;
	return 0;
}

int peer__send_fds(struct peer *p, const void *message, const int fds[FD_MESSAGE_FILES])
{
	const struct jpc_head *h = message;

	if (p->out_len || p->write_closed)
		return -EAGAIN;
	return fd_message__send(p->fd, message, h->length, fds, MSG_DONTWAIT);
}

static void drop_output(struct peer *p)
{
	quota__release(p->quota, p->out_len);
	free(p->out);
	p->out = NULL;
	p->out_len = p->out_at = 0;
}

int peer__flush(struct peer *p, uint64_t now_ns)
{
	while (p->out_at < p->out_len) {
		const struct jpc_head *h = (const void *)(p->out + p->out_at);
		size_t padded = (h->length + 7) & ~7u;
		int err = send_now(p, p->out + p->out_at);

		if (err)
			return err == -EAGAIN ? 0 : err;
		p->out_at += padded;
		p->sent_ns = now_ns;
	}
	drop_output(p);
	return 0;
}

void peer__close_write(struct peer *p)
{
	drop_output(p);
	p->live.on = false;
	p->write_closed = true;
}

void peer__reply(struct peer *p, uint16_t seq, struct jpc_reply *reply, uint64_t now)
{
	if (reply->error && !reply->text[0])
		snprintf(reply->text, sizeof(reply->text), "%s", strerror(-reply->error));
	reply->head = (struct jpc_head){.magic = JPC_MAGIC,
					.version = JPC_VERSION,
					.type = JPC_REPLY,
					.length = sizeof(*reply),
					.seq = seq};
	if (peer__send(p, reply, now))
		p->closing = true;
}

int reply__refuse(struct jpc_reply *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	return err;
}
