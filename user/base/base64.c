/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes bytes as base64. */
#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>

/* n: 1 to 3 bytes. */
static char *put_four(char *to, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint32_t v =
		(uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);

	*to++ = digits[v >> 18];
	*to++ = digits[v >> 12 & 63];
	*to++ = n > 1 ? digits[v >> 6 & 63] : '=';
	*to++ = n > 2 ? digits[v & 63] : '=';
	return to;
}

char *base64__of(const void *from, size_t n, size_t line)
{
	const uint8_t *p = from;
	const size_t digits = (n + 2) / 3 * 4;
	char *out = malloc(digits + (line ? digits / line + 1 : 0) + 1), *to = out;
	size_t column = 0;

	for (size_t i = 0; out && i < n; i += 3) {
		to = put_four(to, p + i, n - i > 3 ? 3 : n - i);
		column += 4;
		if (line && (column == line || i + 3 >= n)) {
			*to++ = '\n';
			column = 0;
		}
	}
	if (out)
		*to = '\0';
	return out;
}
