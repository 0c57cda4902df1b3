/* SPDX-License-Identifier: GPL-2.0-only */
/* J_STATE of a step's journal: with it a jobprofd that comes later goes on where this one was. Read
 * back only by the same build on the same boot. */
#ifndef JP_DAEMON_STEP_STATE_H
#define JP_DAEMON_STEP_STATE_H

#include "daemon/step.h"

#define STATE_VERSION 7

/* What J_STATE holds: this, then for every table its head and what its rows are differences of.
 * Read back only by the same build on the same boot. */
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
	uint32_t asked; /* and all answers have come */
	uint64_t interval_ns[ALL_KINDS];
	struct cgroup_ids ids;
	struct totals others0;
	double throttled_base; /* see cgroup_files__base() */
	char path[JP_PATH_LEN];
};

void step__put_state(struct step *s, struct kern *k);
/* Is it a state that this build has written? */
bool step_state__is_ours(const struct saved *v);
/* The step as it was, with its tables. same: in the same maps, else what was counted between is in
 * nobody's. 0; -EBADMSG: not all of it is there; -ENOMEM. */
int step_state__restore(struct step *s, const struct saved *v, size_t len, bool same);

#endif
