// SPDX-License-Identifier: GPL-2.0-only
/* Two generations: when the newer one is full, the older one goes. What is found in the older one
 * is put into the newer one. */
#include "daemon/record/leaf_cache.h"

#include <stdlib.h>

#define GENERATION 16384 /* stacks: 700 KiB with the table */

static void free_generation(struct leaf_generation *g)
{
	id_table__free(&g->at);
	free(g->nodes);
	*g = (struct leaf_generation){};
}

static uint64_t find_leaf(const struct leaf_generation *g, uint64_t id)
{
	uint32_t *at = id_table__find(&g->at, id);

	return at ? g->nodes[*at] : 0;
}

uint64_t leaf_cache__find(struct leaf_cache *c, uint64_t id)
{
	uint64_t node = find_leaf(&c->now, id);

	if (node)
		return node;
	node = find_leaf(&c->before, id);
	if (node)
		leaf_cache__add(c, id, node);
	return node;
}

void leaf_cache__add(struct leaf_cache *c, uint64_t id, uint64_t node)
{
	struct leaf_generation *g = &c->now;
	uint64_t *nodes = g->nodes;

	if (g->n == GENERATION) {
		free_generation(&c->before);
		c->before = *g;
		*g = (struct leaf_generation){};
		nodes = NULL;
	}
	if (!(g->n & (g->n - 1)))
		nodes = realloc(nodes, (g->n ? 2 * (size_t)g->n : 1) * sizeof(*nodes));
	if (!nodes)
		return;
	g->nodes = nodes;
	nodes[g->n] = node;
	if (id_table__add(&g->at, id, g->n))
		g->n++;
}

void leaf_cache__free(struct leaf_cache *c)
{
	free_generation(&c->now);
	free_generation(&c->before);
}
