/* SPDX-License-Identifier: GPL-2.0-only */
/* Text for files of numbers: a buffer before a file, and exact, quick conversions. */
#ifndef JP_BASE_OUTBUF_H
#define JP_BASE_OUTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format_number.h"

#define OUTBUF_ROOM (DIGITS_MAX + 64)

struct outbuf {
	int fd;
	int err; /* the first failure, -errno; what comes after it is dropped */
	char *buf;
	size_t len, size;
	char *(*hand)(struct outbuf *o); /* NULL: it goes to the file */
	void *to;
};

/* 0 or -ENOMEM. The file stays the caller's. */
int outbuf__init(struct outbuf *o, int fd);
/* With a buffer of at least 1024 bytes that is the caller's. hand is called when it is full, or
 * flushed and not empty: it does something with the len bytes in buf, or sets err, and returns the
 * buffer of the same size to go on with. */
void outbuf__init_lent(struct outbuf *o, char *buf, size_t size, char *(*hand)(struct outbuf *o),
		       void *to);
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
