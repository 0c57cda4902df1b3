/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a text with escapes for characters that a terminal, or a reader of XML, would obey. */
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static void put_escaped(FILE *out, const char *s, bool is_utf8)
{
	for (size_t n; *s; s += n ? n : 1) {
		n = utf8__visible(s);
		if (n > 1 && !is_utf8)
			n = 0;
		if (n)
			fwrite(s, 1, n, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*s);
	}
}

void print__escaped(FILE *out, const char *s)
{
	put_escaped(out, s, utf8__is_locale());
}

void print__utf8(FILE *out, const char *s)
{
	put_escaped(out, s, true);
}

void print__ascii(FILE *out, const char *s)
{
	put_escaped(out, s, false);
}

static void put_xml(FILE *out, unsigned char c)
{
	switch (c) {
	case '&':
		fputs("&amp;", out);
		break;
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	default:
		putc(c, out);
	}
}

void print__xml(FILE *out, const char *s, size_t max)
{
	bool cut = strlen(s) > max;

	for (size_t i = 0, n; i < max && s[i]; i += n > 1 && !cut ? n : 1) {
		n = utf8__visible(s + i);
		if (n > 1 && !cut)
			fwrite(s + i, 1, n, out);
		else
			put_xml(out, n == 1 ? (unsigned char)s[i] : '?');
	}
}
