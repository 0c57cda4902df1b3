/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a step (family stack): they are taken out of the kernel with every snapshot.
 * Helpers read the memory maps of their processes, by which addresses become places in files, and
 * the counts go to the tables Stacks and CallTree.
 */
#ifndef JP_DAEMON_RECORD_STEP_STACKS_H
#define JP_DAEMON_RECORD_STEP_STACKS_H

#include "daemon/step/step.h"

/* Takes what the kernel has counted for all steps. */
void step_stacks__take(const struct step_env *env);
/* Takes the stacks that the helper has followed (lookup/unwinding.h). */
void step_stacks__unwound(const struct step_env *env);
/* Called when a step ends: takes also the stacks that the helper has not followed yet. */
void step_stacks__settle(const struct step_env *env);
/* Has the memory map of a sampled process read while the process lives (JP_EV_MAPS). */
void step_stacks__process(struct step *s, const struct step_env *env, uint32_t slot, uint32_t tgid,
			  uint32_t exec);
/* The answer to LOOKUP_MAPS. */
void step_stacks__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			   const struct lookup_answer *a);
/* Journals what was counted since the last rows, if these are long enough ago or the step is
 * closing. Returns the number of rows. */
unsigned step_stacks__rows(struct step *s, const struct step_env *env);
void step_stacks__end_frame(struct step_stacks *st, enum frame_end end); /* NULL is fine */
/* The number of samples and gaps that are in no table, so far. */
uint64_t step_stacks__lost(const struct step_stacks *st);
/* The number of processes with more code ranges than were stored. */
uint64_t step_stacks__cut_maps(const struct step_stacks *st);
void step_stacks__free(struct step_stacks *st); /* NULL is fine */

#endif
