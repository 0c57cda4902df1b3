/* SPDX-License-Identifier: GPL-2.0-only */
/* The heap of a process that lives for milliseconds. */
#ifndef JP_BASE_HEAP_H
#define JP_BASE_HEAP_H

#include <stddef.h>

#define HEAP_PAGE (2u << 20) /* a large page */

/*
 * What malloc gives out next, up to bytes (of whole large pages), lies in large pages, where the
 * kernel has such for who asks; what is freed is kept. Getting memory page by page takes longer
 * than much of what is done with it. After a fork: what is shared with a parent is copied anyway.
 */
void heap__prepare(size_t bytes);

#endif
