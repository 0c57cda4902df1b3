/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and replaces bytes that are not UTF-8, and invisible characters. */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Length of the character that s begins with, whose number is *to; 0: there is none. Unicode 3.9,
 * table 3-7: neither surrogates, nor more bytes than needed, nor beyond U+10FFFF; nor U+FFFE and
 * U+FFFF, which XML has not. */
static size_t character(const char *s, uint32_t *to)
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
	*to = v;
	return (size_t)more + 1;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

struct range {
	uint32_t from, to;
};

static bool is_in(uint32_t c, const struct range *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= of[i].from && c <= of[i].to)
			return true;
	return false;
}

/* Without a width, or changing the direction or the place of what is around them. Pages in a
 * browser escape the same (web/src/format.js). */
static bool is_hidden(uint32_t c)
{
	static const struct range hidden[] = {
		{0xad, 0xad},	  {0x61c, 0x61c},   {0x180e, 0x180e},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069},
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

	return is_control(c) || is_in(c, hidden, sizeof(hidden) / sizeof(hidden[0]));
}

size_t utf8__visible(const char *s)
{
	uint32_t c = 0;
	size_t len = *s ? character(s, &c) : 0;

	return len && !is_hidden(c) ? len : 0;
}

const char *utf8__next(const char *s)
{
	const size_t bytes = utf8__visible(s);

	if (bytes)
		return s + bytes;
	for (s++; ((unsigned char)*s & 0xc0) == 0x80; s++)
		;
	return s;
}

/* Unicode's East Asian Width, wide and full, in blocks: of what is not wide there, too much room is
 * left. */
unsigned utf8__width(const char *s)
{
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x231a, 0x231b},	{0x2329, 0x232a},   {0x23e9, 0x23f3},
		{0x25fd, 0x25fe},   {0x2600, 0x27bf},	{0x2b1b, 0x2b55},   {0x2e80, 0xa4cf},
		{0xa960, 0xa97f},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe10, 0xfe6f},
		{0xff01, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff},
		{0x1d300, 0x1d37f}, {0x1f000, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7ff},
		{0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
	uint32_t c = 0;

	return *s && character(s, &c) && c >= wide[0].from &&
			       is_in(c, wide, sizeof(wide) / sizeof(wide[0]))
		       ? 2
		       : 1;
}

unsigned utf8__length(const char *s)
{
	unsigned n = 0;

	for (; *s; s = utf8__next(s))
		n += utf8__width(s);
	return n;
}

/* The locale's name: the first variable that is set, as in locale(7). */
static const char *locale_name(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *v = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !(v && *v); i++)
		v = getenv(names[i]);
	return v ? v : "";
}

/* A name is language_territory.codeset@modifier. Only the name is used: it describes the user's
 * terminal, and the locale need not be installed on this machine. */
bool utf8__is_locale(void)
{
	const char *codeset = strchr(locale_name(), '.');
	size_t n = codeset ? strcspn(++codeset, "@") : 0;

	return (n == 5 && !strncasecmp(codeset, "UTF-8", n)) ||
	       (n == 4 && !strncasecmp(codeset, "utf8", n));
}

static char *replace(const char *s, size_t max, bool (*is_bad)(uint32_t c), unsigned *replaced)
{
	size_t room = REPLACEMENT_LEN * strlen(s), n = 0;
	char *to = malloc((room < max ? room : max) + 1);

	*replaced = 0;
	if (!to)
		return NULL;
	while (*s) {
		uint32_t c = 0;
		size_t len = character(s, &c), put = len;
		const char *from = s;

		if (!len || is_bad(c)) {
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

char *utf8__clean(const char *s, size_t max, unsigned *replaced)
{
	return replace(s, max, is_control, replaced);
}

char *utf8__shown(const char *s, unsigned *replaced)
{
	return replace(s, REPLACEMENT_LEN * strlen(s), is_hidden, replaced);
}
