/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Unix socket has its peer's credentials (unix(7), SO_PEERCRED). Of a TCP connection from this
 * machine /proc/net/tcp has both sockets, with the user of each (proc(5)).
 */
#include "http/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>

int peer__of_unix(uid_t *uid, int fd)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return -errno;
	*uid = c.uid;
	return 0;
}

int peer__of_loopback(uid_t *uid, int fd)
{
	struct sockaddr_in here = {0}, there = {0};
	socklen_t n = sizeof(here), m = sizeof(there);
	unsigned local, local_port, remote, remote_port, owner;
	int err = -ENOENT;
	char line[512];
	FILE *f;

	if (getsockname(fd, (struct sockaddr *)&here, &n) ||
	    getpeername(fd, (struct sockaddr *)&there, &m) || here.sin_family != AF_INET)
		return -ENOENT;
	f = fopen("/proc/net/tcp", "re");
	if (!f)
		return -errno;
	while (err && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*u: %8x:%4x %8x:%4x %*x %*x:%*x %*x:%*x %*x %u", &local,
			   &local_port, &remote, &remote_port, &owner) == 5 &&
		    local == there.sin_addr.s_addr && local_port == ntohs(there.sin_port) &&
		    remote == here.sin_addr.s_addr && remote_port == ntohs(here.sin_port)) {
			*uid = owner;
			err = 0;
		}
	fclose(f);
	return err;
}

void peer__name(char *name, size_t size, uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	if (p)
		snprintf(name, size, "%s", p->pw_name);
	else
		snprintf(name, size, "%u", (unsigned)uid);
}
