/* SPDX-License-Identifier: GPL-2.0-only */
/* A text is printed with escapes for what a terminal, or a reader of XML, would obey. */
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>

void print__escaped(FILE *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = *s;

		if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
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
		putc(c < ' ' || c == 0x7f ? '?' : c, out);
	}
}

void print__xml(FILE *out, const char *s, size_t max)
{
	bool cut = strlen(s) > max;

	for (size_t i = 0; i < max && s[i]; i++)
		put_xml(out, cut && (unsigned char)s[i] > 0x7f ? '?' : (unsigned char)s[i]);
}
