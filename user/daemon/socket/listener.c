// SPDX-License-Identifier: GPL-2.0-only
/* A listening socket: bound in place of a dead one, paused and closed. */
#include "daemon/socket/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/socket/stuck.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

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

int listener__open(struct listener *l, const char *path, mode_t mode)
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

void listener__pause(struct listener *l, bool paused)
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

void listener__close(struct listener *l, bool leave)
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
