/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between processes of this program. */
#include "pool/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io_full.h"
#include "base/room.h"

#define MESSAGE_MAX (64u << 20)

/* Every value begins at a multiple of 8: rows are used where they lie. */
static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void message__begin(struct message *m)
{
	m->len = m->at = 0;
	m->bad = false;
}

void message__free(struct message *m)
{
	free(m->p);
	*m = (struct message){0};
}

static bool make_room(struct message *m, size_t n)
{
	return n <= MESSAGE_MAX - m->len && !room__make(&m->p, &m->room, m->len + n, 1);
}

void message__put(struct message *m, const void *p, size_t n)
{
	m->bad = m->bad || !make_room(m, padded(n));
	if (m->bad || !n)
		return;
	memcpy(m->p + m->len, p, n);
	memset(m->p + m->len + n, 0, padded(n) - n);
	m->len += padded(n);
}

void message__put_text(struct message *m, const char *text)
{
	message__put(m, text, strlen(text) + 1);
}

const void *message__take(struct message *m, size_t n)
{
	const void *p = m->p + m->at;

	if (m->bad || m->len - m->at < padded(n)) {
		m->bad = true;
		return NULL;
	}
	m->at += padded(n);
	return p;
}

const char *message__take_text(struct message *m)
{
	const char *s = (const char *)m->p + m->at;
	const char *end = m->bad || m->at == m->len ? NULL : memchr(s, 0, m->len - m->at);

	if (end && message__take(m, (size_t)(end - s) + 1))
		return s;
	m->bad = true;
	return "";
}

int message__send(int fd, const struct message *m)
{
	uint32_t n = m->len;
	int err = m->bad ? -ENOMEM : write_full(fd, &n, sizeof(n));

	return err ? err : write_full(fd, m->p, n);
}

int message__receive(int fd, struct message *m)
{
	uint32_t n;
	ssize_t got = read_full(fd, &n, sizeof(n));

	message__begin(m);
	if (got < (ssize_t)sizeof(n))
		return got < 0 ? (int)got : 0;
	if (n > MESSAGE_MAX)
		return 0;
	if (!make_room(m, n))
		return -ENOMEM;
	got = read_full(fd, m->p, n);
	m->len = n;
	return got < 0 ? (int)got : got == n;
}
