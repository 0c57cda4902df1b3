/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message with open files, from one process of this program to another, over a socket. */
#ifndef JP_BASE_FD_MESSAGE_H
#define JP_BASE_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define FD_MESSAGE_FILES 2

/* Sends a message, and with it the first of fds, up to one that is -1; flags: those of sendmsg(2).
 * 0 or -errno. */
int fd_message__send(int socket, const void *message, size_t n, const int fds[FD_MESSAGE_FILES],
		     int flags);
/* Receives at most n bytes. The caller closes the files that came with them; -1: no more came.
 * Returns the number of bytes; 0: the other end is closed; -errno. */
ssize_t fd_message__receive(int socket, void *message, size_t n, int fds[FD_MESSAGE_FILES]);

#endif
