/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Base64 (RFC 4648) of bytes, as mails and comments have it. */
#ifndef JP_BASE_BASE64_H
#define JP_BASE_BASE64_H

#include <stddef.h>

/* Encodes n bytes. line: characters per line, a multiple of 4; each line has its end; 0: one line
 * without an end. The caller frees the text; NULL: no memory. */
char *base64__of(const void *from, size_t n, size_t line);

#endif
