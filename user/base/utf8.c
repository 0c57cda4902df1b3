/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes that are not UTF-8, and control characters, are replaced. */
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT	"\xef\xbf\xbd"
#define REPLACEMENT_LEN 3

static int continuation_bytes(unsigned char c)
{
	return c < 0x80		    ? 0
	       : (c & 0xe0) == 0xc0 ? 1
	       : (c & 0xf0) == 0xe0 ? 2
	       : (c & 0xf8) == 0xf0 ? 3
				    : -1;
}

/* Length of the character that s begins with, 0: there is none. Unicode 3.9, table 3-7: neither
 * surrogates, nor more bytes than needed, nor beyond U+10FFFF; nor U+FFFE and U+FFFF, which XML has
 * not. */
static size_t character(const char *s)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	unsigned char c = (unsigned char)*s;
	int more = continuation_bytes(c), i;
	uint32_t v = more > 0 ? c & (0x3f >> more) : c;

	if (more < 0)
		return 0;
	for (i = 1; i <= more; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | ((unsigned char)s[i] & 0x3f);
	}
	if (v < least[more] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) || v == 0xfffe ||
	    v == 0xffff)
		return 0;
	return (size_t)more + 1;
}

static int is_control(const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s;

	return len == 1 ? c < 0x20 || c == 0x7f : c == 0xc2 && (unsigned char)s[1] < 0xa0;
}

char *utf8__clean(const char *s, size_t max, unsigned *replaced)
{
	size_t room = REPLACEMENT_LEN * strlen(s), n = 0;
	char *to = malloc((room < max ? room : max) + 1);

	*replaced = 0;
	if (!to)
		return NULL;
	while (*s) {
		size_t len = character(s), put = len;
		const char *from = s;

		if (!len || is_control(s, len)) {
			from = REPLACEMENT;
			put = REPLACEMENT_LEN;
			++*replaced;
		}
		if (n + put > max)
			break;
		memcpy(to + n, from, put);
		n += put;
		s += len ? len : 1;
	}
	to[n] = 0;
	return to;
}
