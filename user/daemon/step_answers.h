/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of the helpers' answers to a step's questions (step_ask.h). */
#ifndef JP_DAEMON_STEP_ANSWERS_H
#define JP_DAEMON_STEP_ANSWERS_H

#include "daemon/step.h"

/* One of its questions was answered. */
void step__answered(struct step *s, const struct step_env *env, const struct lookup *q,
		    const struct lookup_answer *a);

#endif
