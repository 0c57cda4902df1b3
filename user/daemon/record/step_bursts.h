/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table Bursts: one for each long burst of the step's threads. */
#ifndef JP_DAEMON_RECORD_STEP_BURSTS_H
#define JP_DAEMON_RECORD_STEP_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/step/frame.h"
#include "daemon/step/step.h"
#include "schema/schema.h"

/* Journals a row for every burst of the step that is known, and returns how many. */
unsigned step_bursts__rows(struct step *s, const struct step_env *env);
/* Notes that these rows are in the journal, so that none is put again. */
void step_bursts__written(struct step *s, struct kern *k);
/* Drops the bursts that no step will ask for. */
void step_bursts__drop_others(const struct step *steps, const struct step_env *env);

/* ---- The last bursts of a step, for programs that follow it while it runs: at most
 * JPC_BURSTS_KEPT, stored while somebody asks for them. */

struct recent_bursts {
	struct journaled rows; /* bursts of the step, numbered from 1 */
	uint64_t asked_ns;
	/* Burst number n is at (n - 1) % cap. cap 0: nobody asks. */
	unsigned cap, ncols;
	uint64_t first;	   /* the oldest that may be there */
	union cell *cells; /* rows of number, task, and ncols cells */
};

/* Called when somebody asks. 0; -EDQUOT: too many steps are asked for; -ENOMEM. */
int recent_bursts__ask(struct recent_bursts *r, unsigned ncols, uint64_t now_ns);
/* Called when a frame begins; frees the bursts where nobody has asked for a while. */
void recent_bursts__begin(struct recent_bursts *r, uint64_t now_ns);
void recent_bursts__add(struct recent_bursts *r, int task, const union cell *cells, unsigned ncols);
/* The cells of the first burst with a number above *after, preceded by number and task; *after
 * becomes its number. NULL: there is none. */
const union cell *recent_bursts__next(const struct recent_bursts *r, uint64_t *after);
void recent_bursts__free(struct recent_bursts *r);

#endif
