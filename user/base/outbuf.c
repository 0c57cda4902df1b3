/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A buffer of text before a file, or in memory. */
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

static void put_bytes(struct outbuf *o, const void *from, size_t len)
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

static void grow_buffer(struct outbuf *o)
{
	char *p = o->err ? NULL : realloc(o->buf, 2 * o->size);

	if (!p) {
		o->err = o->err ? o->err : -ENOMEM;
		o->len = 0;
		return;
	}
	o->buf = p;
	o->size *= 2;
}

static void flush(struct outbuf *o)
{
	put_bytes(o, o->buf, o->len);
	o->len = 0;
}

int outbuf__end(struct outbuf *o)
{
	if (o->buf && o->fd >= 0)
		flush(o);
	free(o->buf);
	o->buf = NULL;
	return o->err;
}

char *outbuf__room(struct outbuf *o)
{
	if (o->buf && o->len + OUTBUF_ROOM > o->size) {
		if (o->fd < 0)
			grow_buffer(o);
		else
			flush(o);
	}
	return o->buf ? o->buf + o->len : NULL;
}

void outbuf__mem(struct outbuf *o, const void *from, size_t left)
{
	const char *p = from;

	if (!o->buf)
		return;
	if (left >= DIRECT && o->fd >= 0) {
		flush(o);
		put_bytes(o, from, left);
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
		outbuf__filled(o, format_number__u64(p, v));
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
		outbuf__filled(o, format_number__f6(p, v));
}
