/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of steps, which follows the kernel's slots; a step is made and freed. */
#ifndef JP_DAEMON_FOLLOW_STEP_LIST_H
#define JP_DAEMON_FOLLOW_STEP_LIST_H

#include "daemon/lookup/lookup.h"
#include "daemon/step/step.h"

struct daemon;

/* Brings steps in line with the slots, and asks for what is not known of them. */
void daemon_sync_steps(struct daemon *d);
/* No step has begun since, and no step waits for its identity. */
bool daemon_in_sync(const struct daemon *d);
/* The lookup_answered_fn of the daemon: gives the answer to the step that asked. */
void daemon_answered(void *ctx, const struct lookup *q, const struct lookup_answer *a);

/* Makes a step for the slot of kind STEP, state NEW (or IGNORED if nothing is asked for). NULL: no
 * memory. */
struct step *step__new(const struct step_env *env, uint32_t slot);
void step__free(struct step *s);

#endif
