/* SPDX-License-Identifier: GPL-2.0-only */
/* A text is printed with escapes for what a terminal would obey. */
#include "base/escape.h"

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
