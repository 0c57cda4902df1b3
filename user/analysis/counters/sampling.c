// SPDX-License-Identifier: GPL-2.0-or-later
/* Deterministic sampling: which bursts are sampled depends on their names and a seed only. */
#include "analysis/reduce.h"

#include <math.h>
#include <stdlib.h>

uint64_t splitmix64(uint64_t z)
{
	z += 0x9E3779B97F4A7C15;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	return z ^ (z >> 31);
}

struct sample_item sample_item__of(uint64_t seed, uint64_t node, uint64_t seq)
{
	return (struct sample_item){splitmix64(seed ^ (node << 40 | seq)), node, seq};
}

bool sample_item__is_in_part(uint64_t key, double p)
{
	if (!(p > 0))
		return false;
	return p >= 1 || key < (uint64_t)ldexp(p, 64);
}

int sample_item__compare(const void *a, const void *b)
{
	const struct sample_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool is_smaller(const struct sample_item *a, const struct sample_item *b)
{
	return sample_item__compare(a, b) < 0;
}

static void swap(struct sample_item *a, struct sample_item *b)
{
	struct sample_item was = *a;

	*a = *b;
	*b = was;
}

enum analysis_status bottom_k__init(struct bottom_k *b, size_t k)
{
	*b = (struct bottom_k){.items = calloc(k + !k, sizeof(*b->items)), .k = k};
	return b->items ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
}

/* The item at i moves away from the top while one below is larger. */
static void sift_down(struct bottom_k *b, size_t i)
{
	for (;;) {
		size_t larger = 2 * i + 1;

		if (larger >= b->n)
			return;
		if (larger + 1 < b->n && is_smaller(&b->items[larger], &b->items[larger + 1]))
			larger++;
		if (!is_smaller(&b->items[i], &b->items[larger]))
			return;
		swap(&b->items[i], &b->items[larger]);
		i = larger;
	}
}

void bottom_k__add(struct bottom_k *b, struct sample_item item)
{
	if (b->n == b->k) {
		if (!b->k || !is_smaller(&item, &b->items[0]))
			return;
		b->items[0] = item;
		sift_down(b, 0);
		return;
	}
	b->items[b->n] = item;
	for (size_t i = b->n++, up; i; i = up) {
		up = (i - 1) / 2;
		if (!is_smaller(&b->items[up], &b->items[i]))
			break;
		swap(&b->items[up], &b->items[i]);
	}
}

void bottom_k__merge(struct bottom_k *b, const struct bottom_k *from)
{
	for (size_t i = 0; i < from->n; i++)
		bottom_k__add(b, from->items[i]);
}

void bottom_k__sort(struct bottom_k *b)
{
	qsort(b->items, b->n, sizeof(*b->items), sample_item__compare);
}

void bottom_k__free(struct bottom_k *b)
{
	free(b->items);
	*b = (struct bottom_k){0};
}
