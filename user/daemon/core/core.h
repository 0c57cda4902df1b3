/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a turn that deal with steps and settings: for the files of this folder. */
#ifndef JP_DAEMON_CORE_CORE_H
#define JP_DAEMON_CORE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/step/step.h"

struct daemon;
struct step;

/* Moves every step on as far as possible, from NEW to DONE (step.h). */
void daemon_advance(struct daemon *d, uint64_t now);
/* Whether some step waits for an event that comes within milliseconds. */
bool step_list__busy(const struct step *steps, uint64_t now);

/* Closes the step's slots before the snapshot of its last rows: disk requests that end later are
 * not counted for the step. Finds its tasks for the last time. */
void step__close(struct step *s, const struct step_env *env);
/* Writes the last row of every table, and of external series. */
void step__last_rows(struct step *s, const struct step_env *env);
/* Writes the end attributes and completes the journal, which releases the slots, -> FINISHING.
 * reason may be NULL: found from the tasks. */
void step__finish(struct step *s, const struct step_env *env, const char *reason);

#endif
