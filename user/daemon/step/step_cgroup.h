/* SPDX-License-Identifier: GPL-2.0-only */
/* The values in the files of a step's cgroup: memory, throttling, pressure. */
#ifndef JP_DAEMON_STEP_STEP_CGROUP_H
#define JP_DAEMON_STEP_STEP_CGROUP_H

#include "daemon/step/step.h"
#include "sensor/node/cgroup.h"

/* Reads the values. now: the totals of the row; NULL: the values are for no row. */
void step__read_cgroup(struct step *s, const struct step_env *env, const struct totals *now,
		       double cg[CG_N]);
/* A task has ended, perhaps the last: keeps the cgroup's values for the last row. */
void step__remember_cgroup(struct step *s, const struct step_env *env);

#endif
