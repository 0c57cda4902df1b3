/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that users chose, on their way to a terminal or into XML. */
#ifndef JP_BASE_ESCAPE_H
#define JP_BASE_ESCAPE_H

#include <stdio.h>

/* Prints s; bytes of characters that nobody sees (base/utf8.h) and of none are \xNN, in a locale
 * that is not of UTF-8 those of all but ASCII. */
void print__escaped(FILE *out, const char *s);
/* The same in any locale as if it were of UTF-8, as mails are, and as if it were not. */
void print__utf8(FILE *out, const char *s);
void print__ascii(FILE *out, const char *s);
/* Prints at most max bytes of s for an XML document, as text or in double quotes. Invisible
 * characters (base/utf8.h) become "?"; in a text that is cut, characters outside ASCII do too. */
void print__xml(FILE *out, const char *s, size_t max);

#endif
