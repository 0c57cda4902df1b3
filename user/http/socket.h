/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is at the other end of a connection, as the kernel knows it. */
#ifndef JP_HTTP_SOCKET_H
#define JP_HTTP_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

/* 0 or -errno. */
int http_peer__of_unix(uid_t *uid, int fd);
/* Of a TCP connection within this machine. -ENOENT: the kernel lists no such socket. */
int http_peer__of_loopback(uid_t *uid, int fd);
/* The user's name, or its number. */
void http_peer__name(char *name, size_t size, uid_t uid);

#endif
