/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes of stacks that were seen, of which the kernel sends a number alone when it meets them
 * again. Of many stacks those are forgotten that were not met for longest. */
#ifndef JP_DAEMON_RECORD_LEAF_CACHE_H
#define JP_DAEMON_RECORD_LEAF_CACHE_H

#include "base/id_table.h"

/* Zero is an empty one. */
struct leaf_cache {
	struct leaf_generation {
		struct id_table at;
		uint64_t *nodes;
		unsigned n;
	} now, before;
};

/* The node of a stack; 0: it was not seen, or is forgotten. */
uint64_t leaf_cache__find(struct leaf_cache *c, uint64_t id);
/* Adds one that is not there. Without memory it is not kept. */
void leaf_cache__add(struct leaf_cache *c, uint64_t id, uint64_t node);
void leaf_cache__free(struct leaf_cache *c);

#endif
