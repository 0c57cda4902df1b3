/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes names that users chose as cells that every reader of CSV takes for text. */
#include "base/csv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static bool is_number(const char *s)
{
	char *end;

	if (strspn(s, "+-.0123456789eE") != strlen(s))
		return false;
	strtod(s, &end);
	return end != s && !*end;
}

static bool is_formula(const char *s)
{
	return *s && strchr("=+-@", *s) && !is_number(s);
}

/* Writes the character that s begins with, or a byte that is none. Returns how many bytes. */
static size_t put_character(struct outbuf *o, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = *s == '\n' ? 1 : utf8__visible(s);

	if (n) {
		outbuf__mem(o, s, n);
		return n;
	}
	outbuf__str(o, "\\x");
	outbuf__char(o, hex[(unsigned char)*s >> 4]);
	outbuf__char(o, hex[*s & 15]);
	return 1;
}

void csv__put(struct outbuf *o, const char *s)
{
	bool formula = is_formula(s), quote = formula || strpbrk(s, ",\"\r\n");

	if (quote)
		outbuf__char(o, '"');
	if (formula)
		outbuf__char(o, '\'');
	while (*s) {
		if (*s == '"')
			outbuf__char(o, '"');
		s += put_character(o, s);
	}
	if (quote)
		outbuf__char(o, '"');
}

void csv__print(FILE *out, const char *s)
{
	struct outbuf o;

	if (outbuf__init(&o, -1))
		return;
	csv__put(&o, s);
	fwrite(o.buf, 1, o.len, out);
	outbuf__end(&o);
}
