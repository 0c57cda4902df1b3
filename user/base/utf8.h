/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes UTF-8 of text from anywhere, for files whose readers expect UTF-8. */
#ifndef JP_BASE_UTF8_H
#define JP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * s with U+FFFD for every byte that is in no character of UTF-8 and of XML, and for every control
 * character, cut before the character that would not fit into max bytes. *replaced: how many bytes
 * and characters were replaced. The caller frees it; NULL: no memory.
 */
char *utf8__clean(const char *s, size_t max, unsigned *replaced);
/* As utf8__clean(), and without characters that nobody sees: those of no width, and those that
 * change the direction of writing, by which a text can look like another one. */
char *utf8__shown(const char *s, unsigned *replaced);
/* The length of the character that s begins with; 0: utf8__shown() would replace it. */
size_t utf8__visible(const char *s);
/* The character behind the one that s, which is not empty, begins with: any, or a byte of none. */
const char *utf8__next(const char *s);
/* How many columns of a terminal that character takes at most: 1, or 2 where it is of East Asia or
 * a picture. */
unsigned utf8__width(const char *s);
/* The columns of all characters of s. */
unsigned utf8__length(const char *s);
/* Whether the locale, by its name in the environment, is of UTF-8. */
bool utf8__is_locale(void);

#endif
