// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages with descriptors, as Linux before 6.16 lets anyone send: here the write end of a pipe,
 * whose reader sees when the last one was closed. */
#include "tests/unit/unit.h"
#include <sys/socket.h>

#include "daemon/socket/peer.h"

struct talk {
	int ours, theirs, pipe; /* its read end; -1: none was sent */
};

static void begin(struct talk *t)
{
	int s[2], on = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	assert_int_equal(setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	*t = (struct talk){s[0], s[1], -1};
}

static void send_descriptor(struct talk *t)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {"file", 4};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(sizeof(int))};
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	memcpy(CMSG_DATA(&control.head), &p[1], sizeof(int));
	assert_int_equal(sendmsg(t->theirs, &msg, 0), 4);
	close(p[1]);
	t->pipe = p[0];
}

/* Nobody has closed the last one. */
static void is_open(const struct talk *t)
{
	char byte;

	assert_int_equal(read(t->pipe, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void end(struct talk *t)
{
	close(t->theirs);
	close(t->pipe);
}

static ssize_t receive(const struct talk *t, char text[8])
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr head;
	} control;
	struct iovec iov = {text, 8};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	return stuck__receive(t->ours, &msg);
}

TEST(a_message_is_received_once_and_one_with_a_descriptor_never)
{
	struct talk t;
	char text[8] = "";

	begin(&t);
	assert_int_equal(send(t.theirs, "one", 4, 0), 4);
	send_descriptor(&t);
	assert_int_equal(receive(&t, text), 4);
	assert_string_equal(text, "one");
	assert_int_equal(receive(&t, text), -EPROTO);
	assert_int_equal(receive(&t, text), -EPROTO);
	is_open(&t);
	end(&t);
}

TEST(a_socket_with_a_descriptor_in_it_stays_open)
{
	unsigned before = stuck__count();
	struct talk t;

	begin(&t);
	assert_int_equal(send(t.theirs, "", 0, 0), 0); /* not the end */
	assert_int_equal(send(t.theirs, "one", 4, 0), 4);
	send_descriptor(&t);
	stuck__close(t.ours);
	is_open(&t);
	assert_int_equal(stuck__count(), before + 1);
	assert_int_equal(send(t.theirs, "two", 4, MSG_NOSIGNAL), -1);
	end(&t);
}

TEST(a_socket_without_any_is_closed)
{
	unsigned before = stuck__count();
	struct talk t;

	begin(&t);
	assert_int_equal(send(t.theirs, "one", 4, 0), 4);
	stuck__close(t.ours);
	assert_int_equal(fcntl(t.ours, F_GETFD), -1);
	assert_int_equal(stuck__count(), before);
	end(&t);
}
