/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of a step: counts of its slots, readings of sensors, and rows of external series. */
#ifndef JP_DAEMON_RECORD_STEP_ROWS_H
#define JP_DAEMON_RECORD_STEP_ROWS_H

#include "daemon/step/step.h"

/* Journals the rows that are due at the snapshot's instant; all: of every series. */
void step__rows(struct step *s, const struct step_env *env, bool all);
/* Keeps the highest RSS between rows: to be called for every snapshot. rows_follow: rows that are
 * due will be made of it. */
void step__watch_peak(struct step *s, const struct step_env *env, bool rows_follow);
/* What the step, or a task of it, has used up to the snapshot's instant, as the cells of a row
 * since its start; PeakMB is the highest so far. False: it has no slot. */
bool step__totals(struct step *s, const struct step_env *env, int kind, int gtid,
		  union cell cells[MAX_COLUMNS]);
/* Journals the rows of external series that have come since the last time. */
void step__journal_external(struct step *s, const struct step_env *env);

#endif
