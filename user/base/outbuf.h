/* SPDX-License-Identifier: GPL-2.0-only */
/* Text for files of numbers: a buffer before a file, and exact, quick conversions. */
#ifndef JP_BASE_OUTBUF_H
#define JP_BASE_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digits.h"

#define OUTBUF_ROOM (DIGITS_MAX + 64)

struct outbuf {
	int fd;
	int err; /* the first failure, -errno; what comes after it is dropped */
	char *buf;
	size_t len, size;
	bool framed; /* every write is preceded by its length: a uint32_t, never 0 */
};

/* 0 or -ENOMEM. The file stays the caller's. */
int outbuf__init(struct outbuf *o, int fd);
/* The same with frames of at most size bytes, which is 1024 at least. */
int outbuf__init_framed(struct outbuf *o, int fd, size_t size);
/* Writes what is there. */
void outbuf__flush(struct outbuf *o);
/* Writes what is left, frees the buffer, returns err. */
int outbuf__end(struct outbuf *o);

void outbuf__str(struct outbuf *o, const char *s);
void outbuf__mem(struct outbuf *o, const void *from, size_t left);
void outbuf__char(struct outbuf *o, char c);
void outbuf__u64(struct outbuf *o, uint64_t v);
void outbuf__i64(struct outbuf *o, int64_t v);
void outbuf__f6(struct outbuf *o, double v); /* as digits__f6 */

/* For who fills the buffer himself: room for OUTBUF_ROOM bytes, NULL where nothing is taken. */
char *outbuf__room(struct outbuf *o);

/* They are there up to end. */
static inline void outbuf__filled(struct outbuf *o, const char *end)
{
	o->len = (size_t)(end - o->buf);
}

#endif
