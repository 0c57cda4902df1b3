/* SPDX-License-Identifier: GPL-2.0-only */
/* What a step asks the helpers (lookup.h): its job, its owner, its tasks, its environment. Answers
 * come later (step_answers.h); asking again meanwhile does nothing. */
#ifndef JP_DAEMON_STEP_ASK_H
#define JP_DAEMON_STEP_ASK_H

#include "daemon/step.h"

/* The question waits for its answer; false: it cannot be asked now. */
bool step__ask(struct step *s, struct lookups *lookups, struct lookup *q);
void step__ask_stepd(struct step *s, const struct step_env *env);
void step__ask_owner(struct step *s, const struct step_env *env);
void step__ask_tasks(struct step *s, const struct step_env *env);
void step__ask_env(struct step *s, const struct step_env *env, uint32_t slot);
/* The environment that the kernel side has kept is the step's. */
void step__use_kept_env(struct step *s, struct kern *k);
/* The first exec of the slot's task may have come before the programs that would have seen it. */
bool step__missed_exec(const struct jp_slot *info, struct kern *k);
/* It waits for an answer. */
bool step__asks(const struct step *s);

#endif
