/* SPDX-License-Identifier: GPL-2.0-only */
/* Slots taken and given back (slots.c), for the walk over cgroups. Part of user/kern. */
#ifndef JP_KERN_SLOTS_H
#define JP_KERN_SLOTS_H

#include <stdint.h>

struct kern;

/* A free slot, active from now on, of that kind (JP_KIND_*) and step (its own for a step).
 * JP_SLOT_OTHER: none is free, or the step has none. */
uint32_t kern_take_slot(struct kern *k, uint32_t kind, uint32_t step);
/* Zeroes the slot's counters and frees it. JP_SLOT_OTHER and JP_SLOT_NONE are fine. */
void kern_give_back(struct kern *k, uint32_t slot);

#endif
