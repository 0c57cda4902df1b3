/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages that bring descriptors. Whoever takes such a message out of its queue, or closes the
 * socket with the queue, may be the last to close a file of the sender's, which lasts as long as
 * the sender likes (SO_LINGER, a FUSE file system). From Linux 6.16 on none can be sent to the
 * listeners' sockets (SO_PASSRIGHTS); before, the message is left where it is, and its socket stays
 * open until this process ends.
 */
#ifndef JP_DAEMON_SOCKET_STUCK_H
#define JP_DAEMON_SOCKET_STUCK_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The next message, as recvmsg(2) does. -EPROTO: it brings descriptors, and is still there. Others
 * are credentials alone, for which msg has exactly the room. */
ssize_t stuck__receive(int fd, struct msghdr *msg);
/* Closes the socket of a user, unless there is such a message in it. */
void stuck__close(int fd);
/* How many stay open. The caller takes no more connections when they are too many. */
unsigned stuck__count(void);
/* Another process takes what stays open, so that this one can end. */
void stuck__leave(void);

#endif
