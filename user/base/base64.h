/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Base64 (RFC 4648) of bytes, as mails and comments have it. */
#ifndef JP_BASE_BASE64_H
#define JP_BASE_BASE64_H

#include <stddef.h>

/* In lines of so many characters, a multiple of 4, each with its end; 0: in one, without an end.
 * The caller frees it; NULL: no memory. */
char *base64__of(const void *from, size_t n, size_t line);

#endif
