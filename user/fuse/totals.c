// SPDX-License-Identifier: GPL-2.0-only
#include "fuse/totals.h"

void totals__add(struct totals *sum, const struct totals *add)
{
	int i;

	for (i = 0; i < T_N; i++) {
		if (i == T_RISE || i == T_EXIT_MAXRSS) {
			if (add->v[i] > sum->v[i])
				sum->v[i] = add->v[i];
		} else {
			sum->v[i] += add->v[i];
		}
	}
}

uint64_t totals__rss(const struct totals *t)
{
	return t->v[T_ANON] + t->v[T_FILE] + t->v[T_SHMEM];
}

unsigned totals__clamp(struct totals *now, const struct totals *prev)
{
	unsigned raised = 0;
	int i;

	for (i = 0; i < T_COUNTERS; i++) {
		if (now->v[i] < prev->v[i]) {
			now->v[i] = prev->v[i];
			raised++;
		}
	}
	return raised;
}
