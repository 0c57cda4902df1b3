/* SPDX-License-Identifier: GPL-2.0-only */
/* A listening socket and those who came: one of everybody's, and one of root's alone, so that no
 * number of users' connections is in root's way. */
#ifndef JP_DAEMON_LISTENER_H
#define JP_DAEMON_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

struct door {
	char path[108]; /* "": not there */
	int listener;
	int epfd;  /* the listener's data is NULL */
	bool shut; /* nobody is let in for a while */
};

/* Listens at path, in place of a dead jobprofd's socket. -ENAMETOOLONG; -EADDRINUSE: another one
 * lives; -errno. door__close() is due in any case. */
int door__open(struct door *d, const char *path, mode_t mode);
void door__shut(struct door *d, bool shut);
/* leave: the socket's file stays. */
void door__close(struct door *d, bool leave);

#endif
