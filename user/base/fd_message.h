/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message with open files, from one process of this program to another by a socket. */
#ifndef JP_BASE_FD_MESSAGE_H
#define JP_BASE_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define FD_MESSAGE_FILES 2

/* The first of fds that are not -1 are sent with it; flags: of sendmsg(2). 0 or -errno. */
int fd_message__send(int socket, const void *message, size_t n, const int fds[FD_MESSAGE_FILES],
		     int flags);
/* At most n bytes. The files that came with them are the caller's to close; -1: no more came.
 * Bytes; 0: the other end is closed; -errno. */
ssize_t fd_message__receive(int socket, void *message, size_t n, int fds[FD_MESSAGE_FILES]);

#endif
