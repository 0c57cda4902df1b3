/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes bytes as base64. */
#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>

char *base64__encode(const void *from, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = from;
	char *text = malloc((n + 2) / 3 * 4 + 1), *to = text;

	for (size_t i = 0; text && i < n; i += 3) {
		size_t left = n - i;
		uint32_t three = (uint32_t)in[i] << 16;

		three |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
		three |= left > 2 ? in[i + 2] : 0;
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[three & 63] : '=';
	}
	if (text)
		*to = 0;
	return text;
}
