/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table whose keys are hashes already, and whose values are small numbers. */
#ifndef JP_BASE_ID_TABLE_H
#define JP_BASE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty table is all zeros. */
struct id_table {
	struct id_cell {
		uint64_t id;
		uint32_t value;
	} * cells;
	size_t n, cap;
};

/* FNV-1a, never 0. */
uint64_t id__of_text(const char *text);
/* A hash of both numbers, never 0. */
uint64_t id__mix(uint64_t hash, uint64_t n);

/* The value of an id, which must not be 0; NULL: it is not there. */
uint32_t *id_table__find(const struct id_table *t, uint64_t id);
/* Adds an id that is not there. False: no memory. */
bool id_table__add(struct id_table *t, uint64_t id, uint32_t value);
void id_table__free(struct id_table *t);

#endif
