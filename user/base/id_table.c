// SPDX-License-Identifier: GPL-2.0-or-later
/* A hash table with open addressing, of whose cells at most half are taken. */
#include "base/id_table.h"

#include <stdlib.h>

uint64_t id__of_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash ? hash : 1;
}

uint64_t id__mix(uint64_t hash, uint64_t n)
{
	hash = (hash ^ n) * 0x9e3779b97f4a7c15u;
	hash ^= hash >> 29;
	hash *= 0xbf58476d1ce4e5b9u;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

static struct id_cell *cell_of(const struct id_table *t, uint64_t id)
{
	size_t at = (id ^ id >> 32) & (t->cap - 1);

	while (t->cells[at].id && t->cells[at].id != id)
		at = (at + 1) & (t->cap - 1);
	return &t->cells[at];
}

uint32_t *id_table__find(const struct id_table *t, uint64_t id)
{
	struct id_cell *c = t->cap ? cell_of(t, id) : NULL;

	return c && c->id ? &c->value : NULL;
}

static bool grow_table(struct id_table *t)
{
	struct id_table more = {.cap = t->cap ? 2 * t->cap : 256, .n = t->n};

	more.cells = calloc(more.cap, sizeof(*more.cells));
	if (!more.cells)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->cells[i].id)
			*cell_of(&more, t->cells[i].id) = t->cells[i];
	free(t->cells);
	*t = more;
	return true;
}

bool id_table__add(struct id_table *t, uint64_t id, uint32_t value)
{
	if (2 * (t->n + 1) > t->cap && !grow_table(t))
		return false;
	*cell_of(t, id) = (struct id_cell){id, value};
	t->n++;
	return true;
}

void id_table__free(struct id_table *t)
{
	free(t->cells);
	*t = (struct id_table){};
}
