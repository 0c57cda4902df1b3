/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Going on with the counts of another build's programs, which are pinned. Part of user/kern. */
#ifndef JP_KERN_CARRY_H
#define JP_KERN_CARRY_H

#include "kern/internal.h"

struct carry;

/* Opens what is pinned at k->pin_dir. NULL: nothing counts there, or nothing of it can be carried;
 * the log has the reason. */
struct carry *kern_carry_open(const struct kern *k);
void kern_carry_free(struct carry *c);
/*
 * For the load of our programs: returns the others' map of what tasks carry. to: its fields that
 * are in ours as well. *bytes: its size; *ready, *next_slot: where these are in ours, then where
 * they are in theirs. -ENOTSUP: ours does not fit.
 */
int kern_carry_tasks(const struct carry *c, const struct btf *ours, struct jp_move to[JP_MOVES],
		     uint32_t *bytes, uint32_t *ready, uint32_t *next_slot);
/*
 * Attaches the programs of k, copies all counts, takes over the tasks, and removes the pins and
 * links of the others. k->lost: the families whose counts could not be copied. 0 or -errno; after
 * an error nothing is left to go on with.
 */
int kern_carry_run(struct kern *k, struct carry *c);

#endif
