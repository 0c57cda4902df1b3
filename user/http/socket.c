/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets of a server: those that it listens at, and who is at the other end of a connection. A
 * Unix socket has its peer's credentials (unix(7), SO_PEERCRED). Of a TCP connection from this
 * machine /proc/net/tcp has both sockets, with the user of each (proc(5)).
 */
#include "http/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "http/http.h"

/* ---- listening */

#define BACKLOG 4096 /* as many as the kernel allows */

static int listen_at(int *fd, const struct sockaddr *a, socklen_t n)
{
	const int one = 1;
	int err = 0;

	*fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	if (a->sa_family != AF_UNIX)
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

/* Takes "ADDRESS:PORT" apart; an address with colons is in brackets. 0 or -EINVAL. */
static int split_address(char host[static INET6_ADDRSTRLEN], unsigned *port, const char *text)
{
	const char *colon = strrchr(text, ':');
	const bool is_six = *text == '[';
	const size_t n = colon ? (size_t)(colon - text) - 2 * is_six : INET6_ADDRSTRLEN;

	if (n >= INET6_ADDRSTRLEN || (is_six && colon[-1] != ']') || parse_u32(colon + 1, port) ||
	    *port > 65535)
		return -EINVAL;
	memcpy(host, text + is_six, n);
	host[n] = '\0';
	return 0;
}

int http_listener__address(int *fd, const char *address, bool *is_loopback)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	char host[INET6_ADDRSTRLEN];
	unsigned port;

	if (split_address(host, &port, address))
		return -EINVAL;
	a.sin_port = six.sin6_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &a.sin_addr) == 1) {
		*is_loopback = ntohl(a.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
		return listen_at(fd, (const struct sockaddr *)&a, sizeof(a));
	}
	/* who asks at the loopback of IPv6 is not found out */
	if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1 || IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))
		return -EINVAL;
	*is_loopback = false;
	return listen_at(fd, (const struct sockaddr *)&six, sizeof(six));
}

/* ---- who asks */

int http_peer__of_unix(uid_t *uid, int fd)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return -errno;
	*uid = c.uid;
	return 0;
}

int http_peer__of_loopback(uid_t *uid, int fd)
{
	struct sockaddr_in here = {0}, there = {0};
	socklen_t n = sizeof(here), m = sizeof(there);
	unsigned local, local_port, remote, remote_port, owner;
	static char buf[65536];
	unsigned long inode;
	int err = -ENOENT;
	char line[512];
	FILE *f;

	if (getsockname(fd, (struct sockaddr *)&here, &n) ||
	    getpeername(fd, (struct sockaddr *)&there, &m) || here.sin_family != AF_INET)
		return -ENOENT;
	f = fopen("/proc/net/tcp", "re");
	if (!f)
		return -errno;
	setvbuf(f, buf, _IOFBF, sizeof(buf)); /* else 1 KiB at a time */
	while (err && fgets(line, sizeof(line), f))
		/* without an inode the other end is closed, and the user always 0 */
		if (sscanf(line, " %*u: %8x:%4x %8x:%4x %*x %*x:%*x %*x:%*x %*x %u %*u %lu", &local,
			   &local_port, &remote, &remote_port, &owner, &inode) == 6 &&
		    inode && local == there.sin_addr.s_addr &&
		    local_port == ntohs(there.sin_port) && remote == here.sin_addr.s_addr &&
		    remote_port == ntohs(here.sin_port)) {
			*uid = owner;
			err = 0;
		}
	fclose(f);
	return err;
}

void http_peer__name(char *name, size_t size, uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	if (p)
		snprintf(name, size, "%s", p->pw_name);
	else
		snprintf(name, size, "%u", (unsigned)uid);
}
