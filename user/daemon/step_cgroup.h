/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of a step's cgroup say: memory, throttling, pressure. */
#ifndef JP_DAEMON_STEP_CGROUP_H
#define JP_DAEMON_STEP_CGROUP_H

#include "daemon/step.h"
#include "sensor/node/cgroup.h"

/* now: what the row will say of its processes; NULL: the values are for no row. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N]);
/* A task has ended, perhaps the last: what the cgroup says now is what the last row will say. */
void step__remember_cgroup(struct step *s, const struct step_env *env);

#endif
