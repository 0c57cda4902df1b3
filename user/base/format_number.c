/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes numbers as digits without printf, which is slow for tables. */
#include "base/format_number.h"

#include <stdio.h>
#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
			    "34353637383940414243444546474849505152535455565758596061626364656667"
			    "6869707172737475767778798081828384858687888990919293949596979899";

static const uint64_t powers[] = {
	0,
	UINT64_C(10),
	UINT64_C(100),
	UINT64_C(1000),
	UINT64_C(10000),
	UINT64_C(100000),
	UINT64_C(1000000),
	UINT64_C(10000000),
	UINT64_C(100000000),
	UINT64_C(1000000000),
	UINT64_C(10000000000),
	UINT64_C(100000000000),
	UINT64_C(1000000000000),
	UINT64_C(10000000000000),
	UINT64_C(100000000000000),
	UINT64_C(1000000000000000),
	UINT64_C(10000000000000000),
	UINT64_C(100000000000000000),
	UINT64_C(1000000000000000000),
	UINT64_C(10000000000000000000),
};

/* 1233 / 4096 is a little more than log10(2): what it finds is right or one too few. */
static unsigned count_digits(uint64_t v)
{
	unsigned n = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= powers[n]);
}

static char *four_before(char *end, uint32_t v)
{
	memcpy(end - 4, pairs + 2 * (v / 100), 2);
	memcpy(end - 2, pairs + 2 * (v % 100), 2);
	return end - 4;
}

char *format_number__u64(char *p, uint64_t v)
{
	char *end = p + count_digits(v), *at = end;

	for (; v >= 10000; v /= 10000)
		at = four_before(at, (uint32_t)(v % 10000));
	if (v >= 100) {
		memcpy(at - 2, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(p, pairs + 2 * v, 2);
	else
		*p = (char)('0' + v);
	return end;
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
	p = format_number__u64(p, whole);
	*p = '.';
	memcpy(p + 1, pairs + 2 * (six / 10000), 2);
	memcpy(p + 3, pairs + 2 * (six / 100 % 100), 2);
	memcpy(p + 5, pairs + 2 * (six % 100), 2);
	return p + 7;
}

char *format_number__f6(char *p, double v)
{
	uint64_t bits, mantissa;
	unsigned exponent;

	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 63)
		*p++ = '-';
	exponent = bits >> 52 & 0x7ff;
	mantissa = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent >= 1023 + 64)
		return put_rare(p, v < 0 ? -v : v, mantissa, exponent);
	if (exponent)
		mantissa |= UINT64_C(1) << 52;
	else
		exponent = 1;
	if (exponent < 1023 + 52)
		return put_fraction(p, mantissa, 1023 + 52 - exponent);
	return stpcpy(format_number__u64(p, mantissa << (exponent - 1023 - 52)), ".000000");
}
