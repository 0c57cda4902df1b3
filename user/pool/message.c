/* SPDX-License-Identifier: GPL-2.0-only */
#include "pool/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io_full.h"

#define MESSAGE_MAX (64u << 20)

/* Everything begins at a multiple of 8: rows are used where they lie. */
static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void message__begin(struct message *w)
{
	w->len = w->at = 0;
	w->bad = false;
}

void message__put(struct message *w, const void *p, size_t n)
{
	size_t room = w->room ? w->room : 4096;
	uint8_t *more;

	if (w->bad)
		return;
	while (room - w->len < padded(n))
		room *= 2;
	if (room > w->room) {
		more = room > MESSAGE_MAX ? NULL : realloc(w->p, room);
		if (!more) {
			w->bad = true;
			return;
		}
		w->p = more;
		w->room = room;
	}
	memcpy(w->p + w->len, p, n);
	memset(w->p + w->len + n, 0, padded(n) - n);
	w->len += padded(n);
}

void message__put_text(struct message *w, const char *s)
{
	message__put(w, s, strlen(s) + 1);
}

const void *message__take(struct message *w, size_t n)
{
	const void *p = w->p + w->at;

	if (w->bad || w->len - w->at < padded(n)) {
		w->bad = true;
		return NULL;
	}
	w->at += padded(n);
	return p;
}

const char *message__take_text(struct message *w)
{
	const char *s = (const char *)w->p + w->at;
	const char *end = w->bad || w->at == w->len ? NULL : memchr(s, 0, w->len - w->at);

	if (end && message__take(w, (size_t)(end - s) + 1))
		return s;
	w->bad = true;
	return "";
}

int message__send(int fd, const struct message *w)
{
	uint32_t n = w->len;
	int err = w->bad ? -ENOMEM : write_fully(fd, &n, sizeof(n));

	return err ? err : write_fully(fd, w->p, n);
}

int message__send_socket(int fd, const struct message *w)
{
	uint32_t n = w->len;
	int err = w->bad ? -ENOMEM : send_fully(fd, &n, sizeof(n));

	return err ? err : send_fully(fd, w->p, n);
}

int message__receive(int fd, struct message *w)
{
	uint32_t n;
	ssize_t got = read_fully(fd, &n, sizeof(n));
	uint8_t *p;

	message__begin(w);
	if (got < (ssize_t)sizeof(n))
		return got < 0 ? got : 0;
	if (n > MESSAGE_MAX)
		return 0;
	if (w->room < n) {
		p = realloc(w->p, n);
		if (!p)
			return -ENOMEM;
		w->p = p;
		w->room = n;
	}
	got = read_fully(fd, w->p, n);
	w->len = n;
	return got < 0 ? got : got == n;
}
