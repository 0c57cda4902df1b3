/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/outbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_BYTES (64u << 10) /* as much as stays in a processor's cache */
#define DIRECT	  (64u << 10) /* and more is written from where it is */

static int init(struct outbuf *o, int fd, size_t size, bool framed)
{
	*o = (struct outbuf){.fd = fd, .buf = malloc(size), .size = size, .framed = framed};
	if (!o->buf)
		o->err = -ENOMEM;
	return o->err;
}

int outbuf__init(struct outbuf *o, int fd)
{
	return init(o, fd, BUF_BYTES, false);
}

int outbuf__init_framed(struct outbuf *o, int fd, size_t size)
{
	return init(o, fd, size, true);
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
	uint32_t len = (uint32_t)o->len;

	if (o->framed && len)
		put(o, &len, sizeof(len));
	put(o, o->buf, o->len);
	o->len = 0;
}

int outbuf__end(struct outbuf *o)
{
	if (o->buf)
		outbuf__flush(o);
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
	if (left >= DIRECT && !o->framed) {
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
