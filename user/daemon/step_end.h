/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a step: its last rows, why it ended, its complete journal. */
#ifndef JP_DAEMON_STEP_END_H
#define JP_DAEMON_STEP_END_H

#include "daemon/step.h"

/* To be called before the snapshot of its last rows: requests that end later are none of the
 * step's. */
void step__close(struct step *s, struct kern *k);
/* The last row of every table, and of external series. */
void step__last_rows(struct step *s, const struct step_env *env);
void step__ask_squeue(struct step *s, const struct step_env *env, uint64_t now_ns);
/* End attributes: the journal is complete, -> FINISHING. reason may be NULL (found out by
 * itself). */
void step__finish(struct step *s, const struct step_env *env, const char *reason);

#endif
