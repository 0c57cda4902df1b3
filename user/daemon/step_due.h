/* SPDX-License-Identifier: GPL-2.0-only */
/* When rows of a step are due: intervals on the wall clock, by kind of table. */
#ifndef JP_DAEMON_STEP_DUE_H
#define JP_DAEMON_STEP_DUE_H

#include "daemon/step.h"

/* Its intervals from now on. */
void step__set_freq(struct step *s, const struct freq *f);
/* The next rows are due at the instants that come, not for one that has passed already. */
void step__set_grid(struct step *s, const struct step_env *env);
/* The step has tables of that kind at all. */
bool step__has_kind(const struct step *s, int kind);
/* Rows of that kind are due at the snapshot's instant. */
bool step__is_due(const struct step *s, const struct step_env *env, int kind);
/* They were written: the next ones are due in the next interval. */
void step__mark_written(struct step *s, const struct step_env *env, int kind);
/* Rows of what the node's sensors say are due at the snapshot's instant. */
bool step__wants_sensors(const struct step *s, const struct step_env *env);

#endif
