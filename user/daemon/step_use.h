/* SPDX-License-Identifier: GPL-2.0-only */
/* What a step did between two ticks: CPU time by CPU, events by package. */
#ifndef JP_DAEMON_STEP_USE_H
#define JP_DAEMON_STEP_USE_H

struct step;
struct step_env;

/* What it did since the last time, by the snapshot. 0; -1: no memory. */
int step_use__update(struct step *s, const struct step_env *env);
/* Nothing was done before now. */
void step_use__skip(struct step *s, const struct step_env *env);

#endif
