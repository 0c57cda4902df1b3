/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of the node group of a step's file: Slurm's five, then ours; what is unknown is
 * absent. */
#ifndef JP_DAEMON_STEP_ATTRS_H
#define JP_DAEMON_STEP_ATTRS_H

#include "daemon/step.h"

/* What is known when the step begins. */
void step__put_start_attrs(struct step *s, const struct step_env *env);
/* What the environment of a task said. */
void step__put_env_attrs(struct step *s);
/* What is known when it has ended. reason may be NULL: found out from the tasks. */
void step__put_end_attrs(struct step *s, const struct step_env *env, const char *reason);
/* Slurm has ended it by a signal and knows why; we do not. */
bool step__must_ask_squeue(const struct step *s, const struct step_env *env);

#endif
