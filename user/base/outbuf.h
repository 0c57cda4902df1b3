/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text with many numbers: a buffer in front of a file, and exact, quick conversions. */
#ifndef JP_BASE_OUTBUF_H
#define JP_BASE_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format_number.h"

#define OUTBUF_ROOM (FORMAT_NUMBER_MAX + 64)

struct outbuf {
	int fd;	 /* -1: the text stays in memory */
	int err; /* the first failure, -errno; later text is discarded */
	char *buf;
	size_t len, size;
};

/* 0 or -ENOMEM. The file stays the caller's. With fd -1 the buffer grows with the text, which is
 * the len bytes in buf. */
int outbuf__init(struct outbuf *o, int fd);
/* Writes what is left, frees the buffer, returns err. */
int outbuf__end(struct outbuf *o);

void outbuf__str(struct outbuf *o, const char *s);
void outbuf__mem(struct outbuf *o, const void *from, size_t left);
void outbuf__char(struct outbuf *o, char c);
void outbuf__u64(struct outbuf *o, uint64_t v);
void outbuf__i64(struct outbuf *o, int64_t v);
void outbuf__f6(struct outbuf *o, double v); /* as format_number__f6 */

/* Room for OUTBUF_ROOM bytes that the caller writes into the buffer itself; NULL after a failure.
 */
char *outbuf__room(struct outbuf *o);

/* The caller has written the bytes before end. */
static inline void outbuf__filled(struct outbuf *o, const char *end)
{
	o->len = (size_t)(end - o->buf);
}

#endif
