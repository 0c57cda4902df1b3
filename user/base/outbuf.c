/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/outbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_BYTES (256u << 10)
#define DIRECT	  (64u << 10) /* and more is written from where it is */
#define ROOM	  512u	      /* for any one number: DBL_MAX has 309 digits before its point */

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

/* Room for size bytes, at most ROOM. */
static char *room(struct outbuf *o, size_t size)
{
	if (__builtin_expect(o->len + size > o->size, 0))
		outbuf__flush(o);
	return o->buf + o->len;
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
		size_t n = left < ROOM ? left : ROOM;

		memcpy(room(o, n), p, n);
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
	if (!o->buf)
		return;
	*room(o, 1) = c;
	o->len++;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes v so that it ends before end; where it begins. */
static char *digits_before(char *end, uint64_t v)
{
	while (v >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, pairs + 2 * v, 2);
		return end;
	}
	*--end = (char)('0' + v);
	return end;
}

static char *put_u64(char *p, uint64_t v)
{
	char digits[20], *end = digits + sizeof(digits), *from;

	if (v < 10) {
		*p = (char)('0' + v);
		return p + 1;
	}
	if (v < 100) {
		memcpy(p, pairs + 2 * v, 2);
		return p + 2;
	}
	if (v < 10000) {
		unsigned high = (unsigned)v / 100, one = high < 10;

		memcpy(p, pairs + 2 * high + one, 2);
		memcpy(p + 2 - one, pairs + 2 * (v % 100), 2);
		return p + 4 - one;
	}
	from = digits_before(end, v);
	memcpy(p, from, (size_t)(end - from));
	return p + (end - from);
}

void outbuf__u64(struct outbuf *o, uint64_t v)
{
	if (!o->buf)
		return;
	o->len = (size_t)(put_u64(room(o, ROOM), v) - o->buf);
}

void outbuf__i64(struct outbuf *o, int64_t v)
{
	if (v < 0)
		outbuf__char(o, '-');
	outbuf__u64(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Not a number, infinite, or 2^64 and more: the last are integers, and rare. */
static char *put_rare(char *p, double v, uint64_t mantissa, unsigned exponent)
{
	if (exponent == 0x7ff)
		return stpcpy(p, mantissa ? "nan" : "inf");
	return stpcpy(p + sprintf(p, "%.0f", v), ".000000");
}

/* mantissa x 2^-shift x 10^6, halves to even. The product is below 2^73: nothing is cut off before
 * it is known where it lies. */
static uint32_t small_micros(uint64_t mantissa, unsigned shift)
{
	unsigned __int128 micros = (unsigned __int128)mantissa * 1000000, cut, half;
	uint32_t six;

	if (shift > 80)
		return 0; /* less than a half */
	half = (unsigned __int128)1 << (shift - 1);
	cut = micros & (2 * half - 1);
	six = (uint32_t)(micros >> shift);
	return six + (cut > half || (cut == half && (six & 1)));
}

/* v is mantissa x 2^-shift, shift > 0. What is behind the point fits 64 bits up to there. */
static char *put_fraction(char *p, uint64_t mantissa, unsigned shift)
{
	uint64_t whole = 0;
	uint32_t six;

	if (shift <= 64) {
		unsigned __int128 micros = (unsigned __int128)(mantissa << (64 - shift)) * 1000000;
		uint64_t cut = (uint64_t)micros, half = UINT64_C(1) << 63;

		whole = shift < 64 ? mantissa >> shift : 0;
		six = (uint32_t)(micros >> 64);
		six += cut > half || (cut == half && (six & 1));
	} else {
		six = small_micros(mantissa, shift);
	}
	if (six == 1000000) {
		six = 0;
		whole++;
	}
	p = put_u64(p, whole);
	*p = '.';
	memcpy(p + 1, pairs + 2 * (six / 10000), 2);
	memcpy(p + 3, pairs + 2 * (six / 100 % 100), 2);
	memcpy(p + 5, pairs + 2 * (six % 100), 2);
	return p + 7;
}

void outbuf__f6(struct outbuf *o, double v)
{
	uint64_t bits, mantissa;
	unsigned exponent;
	char *p;

	if (!o->buf)
		return;
	p = room(o, ROOM);
	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 63)
		*p++ = '-';
	exponent = bits >> 52 & 0x7ff;
	mantissa = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent >= 1023 + 64) {
		p = put_rare(p, v < 0 ? -v : v, mantissa, exponent);
	} else {
		if (exponent)
			mantissa |= UINT64_C(1) << 52;
		else
			exponent = 1;
		if (exponent >= 1023 + 52)
			p = stpcpy(put_u64(p, mantissa << (exponent - 1023 - 52)), ".000000");
		else
			p = put_fraction(p, mantissa, 1023 + 52 - exponent);
	}
	o->len = (size_t)(p - o->buf);
}
