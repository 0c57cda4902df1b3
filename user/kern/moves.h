/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which numbers of a struct another build has as well, and where. Part of user/kern. */
#ifndef JP_KERN_MOVES_H
#define JP_KERN_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* A number that both builds have. */
struct move {
	uint32_t from, to;
	uint32_t bytes;
	bool is_state; /* a peak or an instant: no sum */
};

struct moves {
	struct move *m;
	size_t n, max;
	bool unlike; /* what has the same name is not of one kind, or memory was short */
};

/* The numbers that type `to` of our build and type `from` of the other one have by the same name.
 * Those that only ours has are left out, and stay 0. Free m. */
struct moves moves__between(const struct btf *ours, uint32_t to, const struct btf *theirs,
			    uint32_t from);
void moves__copy(const struct moves *s, void *to, const void *from);
/*
 * Adds to `to`, which somebody may count in with atomic adds, what `now` has more than `first`. A
 * state is taken over, unless it has changed in `to`, too. all_states: no number is a sum.
 */
void moves__add(const struct moves *s, void *to, const void *first, const void *now,
		bool all_states);

#endif
