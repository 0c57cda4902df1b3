/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of Bursts: one per long burst of the step's threads. */
#ifndef JP_DAEMON_RECORD_STEP_BURSTS_H
#define JP_DAEMON_RECORD_STEP_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/step/frame.h"
#include "daemon/step/step.h"
#include "schema/schema.h"

/* Puts rows of all bursts of the step that are known; returns how many. */
unsigned step_bursts__rows(struct step *s, const struct step_env *env);
/* They are in the journal: none of them is put again. */
void step_bursts__written(struct step *s, struct kern *k);
/* Drops the bursts that no step will ask for. */
void step_bursts__drop_others(const struct step *steps, const struct step_env *env);

/* ---- The last bursts of a step, for those who follow it while it runs: kept while they are asked
 * for, and not more of them than JPC_BURSTS_KEPT. */

struct recent_bursts {
	struct journaled rows; /* bursts of the step, which are numbered from 1 */
	uint64_t asked_ns;
	/* Burst number n is at (n - 1) % cap. cap 0: nobody asks. */
	unsigned cap, ncols;
	uint64_t first;	   /* the oldest that may be there */
	union cell *cells; /* rows of number, task, and ncols cells */
};

/* Somebody asks. 0; -EDQUOT: too many steps are asked for; -ENOMEM. */
int recent_bursts__ask(struct recent_bursts *r, unsigned ncols, uint64_t now_ns);
/* A frame begins, of a step whose bursts may not be asked for any more. */
void recent_bursts__begin(struct recent_bursts *r, uint64_t now_ns);
void recent_bursts__add(struct recent_bursts *r, int task, const union cell *cells, unsigned ncols);
/* The first one with a number above *after, number and task first; *after becomes its number. NULL:
 * there is none. */
const union cell *recent_bursts__next(const struct recent_bursts *r, uint64_t *after);
void recent_bursts__free(struct recent_bursts *r);

#endif
