/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a step (family stack): they are taken out of the kernel with every snapshot, their
 * addresses become places in files by the memory maps of their processes, which helpers read, and
 * what was counted goes to the tables Stacks and CallTree.
 */
#ifndef JP_DAEMON_RECORD_STEP_STACKS_H
#define JP_DAEMON_RECORD_STEP_STACKS_H

#include "daemon/step/step.h"

/* Takes what the kernel has counted for all steps. */
void step_stacks__take(const struct step_env *env);
/* Takes the stacks that a helper has followed; */
void step_stacks__unwound(const struct step_env *env);
/* and those that it still has to: a step ends. */
void step_stacks__settle(const struct step_env *env);
/* The process is being sampled (JP_EV_MAPS): its map is read while it lives. */
void step_stacks__process(struct step *s, const struct step_env *env, uint32_t slot, uint32_t tgid,
			  uint32_t exec);
/* The answer to LOOKUP_MAPS. */
void step_stacks__answered(struct step *s, const struct step_env *env, const struct lookup *q,
			   const struct lookup_answer *a);
/* Journals what was counted since the last rows, if these are long enough ago or the step is
 * closing. Returns the number of rows. */
unsigned step_stacks__rows(struct step *s, const struct step_env *env);
void step_stacks__end_frame(struct step_stacks *st, enum frame_end end); /* NULL is fine */
/* Samples and gaps that are in no table, so far. */
uint64_t step_stacks__lost(const struct step_stacks *st);
/* Processes with more code than is kept. */
uint64_t step_stacks__cut_maps(const struct step_stacks *st);
void step_stacks__free(struct step_stacks *st); /* NULL is fine */

#endif
