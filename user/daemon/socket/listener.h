/* SPDX-License-Identifier: GPL-2.0-only */
/* A listening socket. There is one for all users, and one for root alone, so that no number of
 * users' connections is in root's way. */
#ifndef JP_DAEMON_SOCKET_LISTENER_H
#define JP_DAEMON_SOCKET_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

struct listener {
	char path[108]; /* "": not there */
	int fd;
	int epfd;    /* the listener's data is NULL */
	bool paused; /* no connection is accepted for a while */
};

#endif
