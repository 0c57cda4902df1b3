/* SPDX-License-Identifier: GPL-2.0-only */
/* Attributes of a task's table: when it lived, what it executes, and where it may run. */
#ifndef JP_DAEMON_RECORD_TASK_ATTRS_H
#define JP_DAEMON_RECORD_TASK_ATTRS_H

#include "daemon/step/step.h"

/* Puts those that have changed to the frame, for tasks that have a table. */
void task_attrs__put(struct step *s, const struct kern *k);
/* The frame was written. */
void task_attrs__written(struct step *s);

#endif
