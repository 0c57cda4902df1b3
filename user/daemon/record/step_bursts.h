/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of Bursts: one per long burst of the step's threads. */
#ifndef JP_DAEMON_RECORD_STEP_BURSTS_H
#define JP_DAEMON_RECORD_STEP_BURSTS_H

#include "daemon/step/step.h"

/* Puts rows of all bursts of the step that are known; returns how many. */
unsigned step_bursts__rows(struct step *s, const struct step_env *env);
/* They are in the journal: none of them is put again. */
void step_bursts__written(struct step *s, struct kern *k);
/* Drops the bursts that no step will ask for. */
void step_bursts__drop_others(const struct step *steps, const struct step_env *env);

#endif
