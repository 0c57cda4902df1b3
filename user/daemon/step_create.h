/* SPDX-License-Identifier: GPL-2.0-only */
/* A step is made of a slot, and freed. */
#ifndef JP_DAEMON_STEP_CREATE_H
#define JP_DAEMON_STEP_CREATE_H

#include "daemon/step.h"

/* A step for the slot of kind STEP, state NEW (or IGNORED if nothing is asked for). */
struct step *step__new(const struct step_env *env, uint32_t slot);
void step__free(struct step *s);

#endif
