/* SPDX-License-Identifier: GPL-2.0-only */
/* Which tasks a step has: the numbers of those that the kernel could not tell when they began. */
#ifndef JP_DAEMON_STEP_TASKS_H
#define JP_DAEMON_STEP_TASKS_H

#include "daemon/step.h"

/* Global ids of tasks that the kernel could not tell when they began. */
void step__find_tasks(struct step *s, const struct step_env *env);
/* Looks at new tasks while they are there: they may be gone before the first row. */
void step__notice(struct step *s, const struct step_env *env);

#endif
