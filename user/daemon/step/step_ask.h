/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of a step to the helpers (lookup.h): its job, its owner, its tasks, its environment.
 * Answers come later (step__answered()); to ask again before that does nothing. */
#ifndef JP_DAEMON_STEP_STEP_ASK_H
#define JP_DAEMON_STEP_STEP_ASK_H

#include "daemon/step/step.h"

void step__ask_stepd(struct step *s, const struct step_env *env);
void step__ask_owner(struct step *s, const struct step_env *env);
void step__ask_tasks(struct step *s, const struct step_env *env);
void step__ask_env(struct step *s, const struct step_env *env, uint32_t slot);
/* Takes the environment that the kernel side has stored for the step. */
void step__use_kept_env(struct step *s, struct kern *k);
/* Whether the step waits for an answer. */
bool step__asks(const struct step *s);

/* Takes the answer to one of the step's questions. */
void step__answered(struct step *s, const struct step_env *env, const struct lookup *q,
		    const struct lookup_answer *a);

#endif
