/* SPDX-License-Identifier: GPL-2.0-only */
/* Text from anywhere, on its way into a file whose readers take it for UTF-8. */
#ifndef JP_BASE_UTF8_H
#define JP_BASE_UTF8_H

#include <stddef.h>

/*
 * s with U+FFFD for every byte that is in no character of UTF-8 and of XML, and for every control
 * character, cut before the character that would not fit into max bytes. *replaced: how many there
 * were of both. The caller frees it; NULL: no memory.
 */
char *utf8__clean(const char *s, size_t max, unsigned *replaced);

#endif
