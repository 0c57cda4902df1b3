/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>

#include "base/heap.h"
#include "hdf5/h5util.h"
#include "jobfile/merge_internal.h"

#define HEAP_BYTES (4u * HEAP_PAGE) /* what merging so many nodes takes */
#define HEAP_NODES 64

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
	/* The library takes half a MiB for every file it opens: giving that back to the kernel each
	 * time takes longer than reading many a file. */
	heap__prepare(nodes > HEAP_NODES ? 2 * HEAP_BYTES : HEAP_BYTES);
	prepare_library();
}
