/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets that a server listens at. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http.h"

#define BACKLOG 256

static int listen_at(int *fd, const struct sockaddr *a, socklen_t n)
{
	const int one = 1;
	int err = 0;

	*fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	if (a->sa_family == AF_INET)
		setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(*fd, a, n) || listen(*fd, BACKLOG))
		err = -errno;
	if (err)
		close(*fd);
	return err;
}

/* Whether nobody listens there any more. */
static bool is_left(const struct sockaddr_un *a)
{
	struct stat st;
	int fd, err;

	if (lstat(a->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof(*a)) ? errno : 0;
	if (fd >= 0)
		close(fd);
	return err == ECONNREFUSED;
}

int http_listener__unix(int *fd, const char *path, mode_t mode)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	mode_t before;
	int err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	if (is_left(&a))
		unlink(path);
	before = umask(~mode & 0777);
	err = listen_at(fd, (const struct sockaddr *)&a, sizeof(a));
	umask(before);
	return err;
}

int http_listener__loopback(int *fd, unsigned short *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(*port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int err = listen_at(fd, (const struct sockaddr *)&a, n);

	if (!err && getsockname(*fd, (struct sockaddr *)&a, &n))
		err = -errno;
	*port = ntohs(a.sin_port);
	return err;
}
