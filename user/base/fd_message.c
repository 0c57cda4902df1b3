/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends and receives file descriptors with the bytes of a message. */
#include "base/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union ancillary { /* aligned as a struct cmsghdr */
	struct cmsghdr head;
	char room[CMSG_SPACE(FD_MESSAGE_FILES * sizeof(int))];
};

int fd_message__send(int socket, const void *message, size_t n, const int fds[FD_MESSAGE_FILES],
		     int flags)
{
	union ancillary more = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	size_t nfds = 0;
	struct iovec v = {.iov_base = (void *)message, .iov_len = n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	while (nfds < FD_MESSAGE_FILES && fds[nfds] >= 0)
		nfds++;
	if (nfds) {
		more.head.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&more.head), fds, nfds * sizeof(int));
		m.msg_control = &more;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

ssize_t fd_message__receive(int socket, void *message, size_t n, int fds[FD_MESSAGE_FILES])
{
	union ancillary more = {};
	struct iovec v = {.iov_base = message, .iov_len = n};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &more,
			   .msg_controllen = sizeof(more)};
	ssize_t got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&m);

	for (unsigned i = 0; i < FD_MESSAGE_FILES; i++)
		fds[i] = -1;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return got < 0 ? -errno : got;
}
