/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of a step: what its slots counted, what sensors said, what external series brought. */
#ifndef JP_DAEMON_STEP_ROWS_H
#define JP_DAEMON_STEP_ROWS_H

#include "daemon/step.h"

/* Journals the rows that are due at the snapshot's instant; all: of every series. */
void step__rows(struct step *s, const struct step_env *env, bool all);
/* Highest RSS between rows: call for every snapshot. */
void step__watch_peak(struct step *s, const struct step_env *env);
/* Journals what external series have brought since the last time. */
void step__journal_external(struct step *s);

#endif
