/* SPDX-License-Identifier: GPL-2.0-only */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/h5util.h"
#include "store/merge_internal.h"

#define LARGE_PAGE (2u << 20)
#define HEAP_BYTES (8u << 20) /* what merging so many nodes takes */
#define HEAP_NODES 64

/*
 * The library takes half a MiB for every file it opens: giving that back to the kernel each time
 * takes longer than reading many a file. The heap begins with large pages where there are such: of
 * a job of few nodes, a sixth of the time went into getting it page by page.
 */
static void prepare_heap(unsigned nodes)
{
	/* To where a large page may begin; volatile, or it is left out. */
	static char *volatile lead;
	const size_t bytes = nodes > HEAP_NODES ? 2 * HEAP_BYTES : HEAP_BYTES;
	const uintptr_t shared = (uintptr_t)sbrk(0); /* with the parent: no large page */
	uintptr_t at;
	char *room;

	mallopt(M_MMAP_THRESHOLD, 4 * HEAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 4 * HEAP_BYTES);
	room = malloc(bytes + 2 * LARGE_PAGE);
	if (!room)
		return;
	at = (uintptr_t)room > shared ? (uintptr_t)room : shared;
	at = (at + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE;
	madvise((void *)at, bytes, MADV_HUGEPAGE);
	free(room); /* stays the heap's */
	lead = malloc(at - (uintptr_t)room);
	(void)lead;
}

/* The library keeps lists of what it has freed, but by default less than one table of some hundred
 * columns comes to, and then it empties them all. */
static void prepare_library(void)
{
	h5__init();
	H5set_free_list_limits(8 << 20, 1 << 20, 4 << 20, 1 << 20, 16 << 20, 1 << 20);
	H5PLset_loading_state(0);
}

void merge__prepare(unsigned nodes)
{
	static bool done;

	if (done)
		return;
	done = true;
	prepare_heap(nodes);
	prepare_library();
}
