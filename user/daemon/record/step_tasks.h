/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks of a step: numbers of those that the kernel side did not know when they began. */
#ifndef JP_DAEMON_RECORD_STEP_TASKS_H
#define JP_DAEMON_RECORD_STEP_TASKS_H

#include "daemon/step/step.h"

/* Finds global ids of tasks that the kernel side did not know when they began. */
void step__find_tasks(struct step *s, const struct step_env *env);
/* Finds numbers and environment of new tasks at once: they may be gone before the first row. */
void step__find_new_tasks(struct step *s, const struct step_env *env);

#endif
