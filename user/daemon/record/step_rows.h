/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of a step: counts of its slots, readings of sensors, and rows of external series. */
#ifndef JP_DAEMON_RECORD_STEP_ROWS_H
#define JP_DAEMON_RECORD_STEP_ROWS_H

#include "daemon/step/step.h"

/* Journals the rows that are due at the snapshot's instant; all: of every series. */
void step__rows(struct step *s, const struct step_env *env, bool all);
/* Keeps the highest RSS between rows: to be called for every snapshot. */
void step__watch_peak(struct step *s, const struct step_env *env);
/* Journals the rows of external series that have come since the last time. */
void step__journal_external(struct step *s);

#endif
