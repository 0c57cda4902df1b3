/* SPDX-License-Identifier: GPL-2.0-only */
/* The identity of a step: its job and its user. Most of it comes from paths, the rest from
 * slurmstepd's title, Slurm's plugins and processes. */
#ifndef JP_DAEMON_FOLLOW_STEP_IDENTITY_H
#define JP_DAEMON_FOLLOW_STEP_IDENTITY_H

#include "daemon/step/step.h"

/* NEW -> ACTIVE once the job and the user are known, or IGNORED. last: nothing more will become
 * known. */
void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last);

#endif
