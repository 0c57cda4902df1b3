// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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

int door__open(struct door *d, const char *path, mode_t mode)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int on = 1, err;

	*d = (struct door){.listener = -1, .epfd = -1};
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	make_dir(path);
	d->epfd = epoll_create1(EPOLL_CLOEXEC);
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->epfd < 0 || d->listener < 0)
		return -errno;
	/* the file's mode is the socket's when it is bound: never more than mode for a moment */
	if (fchmod(d->listener, mode))
		return -errno;
	err = bind_path(d->listener, &addr);
	if (err)
		return err;
	strcpy(d->path, path);
	if (chmod(path, mode) ||
	    setsockopt(d->listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    listen(d->listener, 1024) || epoll_ctl(d->epfd, EPOLL_CTL_ADD, d->listener, &ev))
		return -errno;
	return 0;
}

void door__shut(struct door *d, bool shut)
{
	struct epoll_event ev = {.events = shut ? 0 : EPOLLIN, .data.ptr = NULL};

	if (d->shut != shut && !epoll_ctl(d->epfd, EPOLL_CTL_MOD, d->listener, &ev))
		d->shut = shut;
}

void door__close(struct door *d, bool leave)
{
	if (d->path[0] && !leave)
		unlink(d->path);
	if (d->listener >= 0)
		close(d->listener);
	if (d->epfd >= 0)
		close(d->epfd);
}
