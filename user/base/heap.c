/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT (32u << 20) /* what is larger goes back to the kernel */

void heap__prepare(size_t bytes)
{
	/* To where a large page may begin; volatile, or it is left out. */
	static char *volatile lead;
	const uintptr_t shared = (uintptr_t)sbrk(0); /* with the parent: no large page */
	uintptr_t at;
	char *room;

	mallopt(M_MMAP_THRESHOLD, KEPT);
	mallopt(M_TRIM_THRESHOLD, KEPT);
	room = malloc(bytes + 2 * HEAP_PAGE);
	if (!room)
		return;
	at = (uintptr_t)room > shared ? (uintptr_t)room : shared;
	at = (at + HEAP_PAGE - 1) & -(uintptr_t)HEAP_PAGE;
	madvise((void *)at, bytes, MADV_HUGEPAGE);
	free(room); /* stays the heap's */
	lead = malloc(at - (uintptr_t)room);
	(void)lead;
}
