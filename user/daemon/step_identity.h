/* SPDX-License-Identifier: GPL-2.0-only */
/* Which job's step it is and whose: paths say most of it, slurmstepd's title, Slurm's plugins and
 * processes the rest. */
#ifndef JP_DAEMON_STEP_IDENTITY_H
#define JP_DAEMON_STEP_IDENTITY_H

#include "daemon/step.h"

/* NEW -> ACTIVE once the job and the user are known; last: no more will be learnt. */
void step__identify(struct step *s, const struct step_env *env, const struct step *all, bool last);

#endif
