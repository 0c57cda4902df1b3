/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes as text (RFC 4648, section 4). */
#ifndef JP_BASE_BASE64_H
#define JP_BASE_BASE64_H

#include <stddef.h>

/* n bytes in base64, padded. The caller frees it; NULL: no memory. */
char *base64__encode(const void *from, size_t n);

#endif
