// SPDX-License-Identifier: GPL-2.0-or-later
/* The client's end of jobprofd's socket: packets and answers, and columns and marks as text. */

#include "tests/unit/unit.h"
#include "client/client.h"
#include "client/column.h"
#include "tests/unit/listener.h"

/* Returns jobprofd's end of the connection. */
static int connected(struct client *c)
{
	listener__listen(&l);
	assert_int_equal(client__open(c, l.path), 0);
	return listener__accept(&l);
}

TEST(where_nobody_listens)
{
	struct client c;
	char longer[200];

	assert_int_equal(client__open(&c, l.path), -ENOENT);
	assert_int_equal(c.fd, -1);
	listener__listen(&l);
	close(l.fd);
	l.fd = -1;
	assert_int_equal(client__open(&c, l.path), -ECONNREFUSED);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(client__open(&c, longer), -ENAMETOOLONG);
	client__close(&c);
	assert_int_equal(client__send(&c, &(struct jpc_mark){0}), -ENOTCONN);
}

TEST(a_full_backlog_is_not_waited_for)
{
	struct client c[64];
	int n = 0, err = 0;

	listener__listen(&l);
	assert_int_equal(listen(l.fd, 1), 0);
	while (n < 64 && !err)
		err = client__open(&c[n++], l.path);
	assert_int_equal(err, -EAGAIN);
	while (n--)
		client__close(&c[n]);
}

TEST(heads_and_packets)
{
	struct jpc_mark m = {.name = "here"}, got;
	struct client c;
	int fd;

	fd = connected(&c);
	for (unsigned seq = 1; seq < 4; seq++) {
		client__head(&c, &m, JPC_MARK, sizeof(m));
		assert_int_equal(client__send(&c, &m), 0);
		assert_int_equal(listener__take(fd, &got, sizeof(got)), sizeof(got));
		assert_memory_equal(&got, &m, sizeof(m));
		assert_int_equal(got.head.magic, JPC_MAGIC);
		assert_int_equal(got.head.version, JPC_VERSION);
		assert_int_equal(got.head.length, sizeof(m));
		assert_int_equal(got.head.seq, seq);
	}
	close(fd);
	assert_int_equal(client__send(&c, &m), -EPIPE);
	client__close(&c);
}

TEST(a_peer_that_does_not_read_blocks_nobody)
{
	struct jpc_mark m = {0};
	struct client c;
	int fd, err = 0;

	fd = connected(&c);
	for (int i = 0; i < 100000 && !err; i++) {
		client__head(&c, &m, JPC_MARK, sizeof(m));
		err = client__send(&c, &m);
	}
	assert_int_equal(err, -EAGAIN);
	client__close(&c);
	close(fd);
}

TEST(answers_of_earlier_messages_are_passed_over)
{
	struct jpc_mark m = {0};
	struct jpc_reply r;
	struct client c;
	int fd;

	fd = connected(&c);
	client__head(&c, &m, JPC_MARK, sizeof(m));
	client__head(&c, &m, JPC_MARK, sizeof(m));
	listener__reply(fd, 1, -EIO, 1);
	listener__reply(fd, 2, -EINVAL, 7);
	assert_int_equal(client__call(&c, &m, &r, 10000), 0);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(r.number, 7);
	assert_string_equal(r.text, "because");
	assert_int_equal(listener__take(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(m.head.flags, JPC_F_REPLY);
	assert_int_equal(client__call(&c, &m, &r, 0), -ETIMEDOUT);
	close(fd);
	assert_int_equal(client__receive(&c, &r, sizeof(r), 10000), -ECONNRESET);
	client__close(&c);
}

TEST(what_is_no_answer)
{
	static const struct jpc_head heads[] = {
		{JPC_MAGIC + 1, JPC_VERSION, JPC_REPLY, sizeof(struct jpc_reply), 0, 1},
		{JPC_MAGIC, JPC_VERSION + 1, JPC_REPLY, sizeof(struct jpc_reply), 0, 1},
		{JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(struct jpc_reply) - 1, 0, 1},
		{JPC_MAGIC, JPC_VERSION, JPC_REPLY, 0xffffffff, 0, 1},
	};
	struct jpc_mark m = {0};
	struct jpc_reply r;
	char large[4096] = "";
	struct client c;
	int fd;

	fd = connected(&c);
	client__head(&c, &m, JPC_MARK, sizeof(m));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		r = (struct jpc_reply){.head = heads[i]};
		assert_int_equal(send(fd, &r, sizeof(r), 0), sizeof(r));
		assert_int_equal(client__call(&c, &m, &r, 10000), -EPROTO);
	}
	assert_int_equal(send(fd, "short", 5, 0), 5);
	assert_int_equal(client__call(&c, &m, &r, 10000), -EPROTO);
	assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
	assert_int_equal(client__call(&c, &m, &r, 10000), -EPROTO);
	close(fd);
	client__close(&c);
}

TEST(texts_of_replies_end)
{
	struct jpc_reply r = {.head = {JPC_MAGIC, JPC_VERSION, JPC_REPLY, sizeof(r), 0, 1}};
	struct jpc_mark m = {0};
	struct client c;
	int fd;

	memset(r.text, 'x', sizeof(r.text));
	fd = connected(&c);
	client__head(&c, &m, JPC_MARK, sizeof(m));
	assert_int_equal(send(fd, &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(client__call(&c, &m, &r, 10000), 0);
	assert_int_equal(strlen(r.text), sizeof(r.text) - 1);
	close(fd);
	client__close(&c);
}

/* The kernel would tell of the reset first, and the message could be taken for lost. */
TEST(what_was_said_arrives_though_answers_are_left_unread)
{
	struct jpc_mark m = {0};
	struct client c;
	int fd;

	fd = connected(&c);
	for (unsigned i = 0; i < 20; i++)
		listener__reply(fd, i, 0, 0);
	client__head(&c, &m, JPC_MARK, sizeof(m));
	assert_int_equal(client__send(&c, &m), 0);
	client__close(&c);
	assert_int_equal(c.fd, -1);
	assert_int_equal(listener__take(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(listener__take(fd, &m, sizeof(m)), 0);
	close(fd);
}

TEST(columns)
{
	static const struct {
		const char *text, *name, *unit;
		int kind;
	} good[] = {
		{"Residual", "Residual", "", JPC_GAUGE},
		{"Cells[1e6]", "Cells", "1e6", JPC_GAUGE},
		{"Iterations+", "Iterations", "", JPC_DELTA},
		{"_x9[MB/s]+", "_x9", "MB/s", JPC_DELTA},
		{"a[b[c]", "a", "b[c", JPC_GAUGE},
		{"a234567890123456789012345678901234567890123456[1234567890123]",
		 "a234567890123456789012345678901234567890123456", "1234567890123", JPC_GAUGE},
	};
	static const char *const bad[] = {
		"",
		"+",
		"[s]",
		"a b",
		"a[]",
		"a[",
		"a]",
		"a[s",
		"a++",
		"a+[s]",
		"a[s]x",
		"a[\n]",
		"a/b",
		"\xc3\xa4",
		"a[12345678901234]",
		"a2345678901234567890123456789012345678901234567x",
	};
	struct jpc_column c;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(column__parse(&c, good[i].text, strlen(good[i].text)), 0);
		assert_string_equal(c.name, good[i].name);
		assert_string_equal(c.unit, good[i].unit);
		assert_int_equal(c.kind, good[i].kind);
		assert_int_equal(c.cell, JPC_F64);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(column__parse(&c, bad[i], strlen(bad[i])), -EINVAL);
	assert_int_equal(column__parse(&c, "ab=3", 2), 0);
	assert_string_equal(c.name, "ab");
}

TEST(names_of_marks)
{
	char to[64], longer[65];

	memset(longer, 'x', 64);
	longer[64] = '\0';
	assert_int_equal(column__mark_name(to, longer), -EINVAL);
	assert_int_equal(column__mark_name(to, longer + 1), 0);
	assert_string_equal(to, longer + 1);
	assert_int_equal(column__mark_name(to, "phase 2 \xc3\xa4"), 0);
	assert_int_equal(column__mark_name(to, ""), -EINVAL);
	assert_int_equal(column__mark_name(to, "a\nb"), -EINVAL);
}

static struct unit_fixture fixture = {.setup = listener_begin, .teardown = listener_end};
