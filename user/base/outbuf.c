/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/outbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_BYTES (64u << 10) /* as much as stays in a processor's cache */
#define DIRECT	  (64u << 10) /* and more is written from where it is */

int outbuf__init(struct outbuf *o, int fd)
{
	*o = (struct outbuf){.fd = fd, .buf = malloc(BUF_BYTES), .size = BUF_BYTES};
	if (!o->buf)
		o->err = -ENOMEM;
	return o->err;
}

void outbuf__init_lent(struct outbuf *o, char *buf, size_t size, char *(*hand)(struct outbuf *o),
		       void *to)
{
	*o = (struct outbuf){.fd = -1, .buf = buf, .size = size, .hand = hand, .to = to};
}

static void put(struct outbuf *o, const void *from, size_t len)
{
	const char *p = from;

	while (!o->err && len) {
		ssize_t n = write(o->fd, p, len);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (n == 0) {
			o->err = -EIO;
		} else if (errno != EINTR) {
			o->err = -errno;
		}
	}
}

void outbuf__flush(struct outbuf *o)
{
	if (!o->hand)
		put(o, o->buf, o->len);
	else if (o->len && !o->err)
		o->buf = o->hand(o);
	o->len = 0;
}

int outbuf__end(struct outbuf *o)
{
	if (o->buf)
		outbuf__flush(o);
	if (!o->hand)
		free(o->buf);
	o->buf = NULL;
	return o->err;
}

char *outbuf__room(struct outbuf *o)
{
	if (o->buf && o->len + OUTBUF_ROOM > o->size)
		outbuf__flush(o);
	return o->buf ? o->buf + o->len : NULL;
}

void outbuf__mem(struct outbuf *o, const void *from, size_t left)
{
	const char *p = from;

	if (!o->buf)
		return;
	if (left >= DIRECT && !o->hand) {
		outbuf__flush(o);
		put(o, from, left);
		return;
	}
	while (left) {
		size_t n = left < OUTBUF_ROOM ? left : OUTBUF_ROOM;

		memcpy(outbuf__room(o), p, n);
		o->len += n;
		p += n;
		left -= n;
	}
}

void outbuf__str(struct outbuf *o, const char *s)
{
	outbuf__mem(o, s, strlen(s));
}

void outbuf__char(struct outbuf *o, char c)
{
	char *p = outbuf__room(o);

	if (!p)
		return;
	*p = c;
	o->len++;
}

void outbuf__u64(struct outbuf *o, uint64_t v)
{
	char *p = outbuf__room(o);

	if (p)
		outbuf__filled(o, digits__u64(p, v));
}

void outbuf__i64(struct outbuf *o, int64_t v)
{
	if (v < 0)
		outbuf__char(o, '-');
	outbuf__u64(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void outbuf__f6(struct outbuf *o, double v)
{
	char *p = outbuf__room(o);

	if (p)
		outbuf__filled(o, digits__f6(p, v));
}
