/* SPDX-License-Identifier: GPL-2.0-or-later */
/* J_STATE of a step's journal, from which a later jobprofd goes on. Only the same build on the same
 * boot reads it. */
#ifndef JP_DAEMON_RECORD_STEP_STATE_H
#define JP_DAEMON_RECORD_STEP_STATE_H

#include "daemon/step/step.h"
#include "sensor/node/cgroup.h"

#define STATE_VERSION 14

#define SAVED_ASKED	 1u /* about processes that ran before, and all answers have come */
#define SAVED_CLOSED	 2u /* the last rows are in the journal: only what Slurm says is missing */
#define SAVED_FIRST_NODE 4u /* of its job's nodes this is the first */

/* The content of J_STATE: this, then for every table its head and, if it has readings of its own,
 * the one from which its next row counts (journal/zero_suppress.h). */
struct saved {
	uint32_t version;
	uint32_t shape; /* of what follows: see saved_shape() */
	uint32_t slot, gen;
	uint64_t maps_born_ns;
	uint64_t cgroup_id;
	uint64_t start_boot_ns, start_real_ns;
	uint64_t rows, intervals, lost_rows;
	uint32_t ntables;
	uint32_t hier;
	uint32_t families;
	uint32_t own_freq;
	uint32_t unread;
	uint32_t flags; /* SAVED_* */
	uint64_t interval_ns[ALL_KINDS];
	struct cgroup_ids ids;
	struct step_loss loss;
	uint64_t own_losses[OWN_LOSSES];
	struct totals others0;
	struct cgroup_base cgroup_base;
	char path[JP_PATH_LEN];
};

void step__put_state(struct step *s, const struct step_env *env);
/* Whether this build has written the state. */
bool step_state__fits_build(const struct saved *v);
/* Restores the step with its tables. lost: families whose counts began anew, so that what came in
 * between is in no row; all of them where the maps are others. 0; -EBADMSG: the state is
 * incomplete; -ENOMEM. */
int step_state__restore(struct step *s, const struct saved *v, size_t len, unsigned lost);

#endif
