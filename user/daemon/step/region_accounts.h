/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many begins and ends of regions each process of a step has told of that are in rows or
 * counted as lost. The journal has this in the frames of these rows: what a later jobprofd hears of
 * the process beyond that is lost.
 */
#ifndef JP_DAEMON_STEP_REGION_ACCOUNTS_H
#define JP_DAEMON_STEP_REGION_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/step/frame.h"

struct region_account {
	uint64_t id, settled;
	pid_t pid;
	bool is_new; /* the journal has not got it */
};

struct region_accounts {
	struct region_account *of;
	unsigned n, max;
	unsigned next;		/* probably asked for next */
	uint64_t lost_in_frame; /* what the journal has of the step's lost begins and ends */
};

/* NULL: nothing is known of the process. */
const struct region_account *region_accounts__find(struct region_accounts *a, pid_t pid,
						   uint64_t id);
/* In place of what was known of an earlier process of that number. Processes that have ended may be
 * forgotten. */
void region_accounts__set(struct region_accounts *a, pid_t pid, uint64_t id, uint64_t settled);
void region_accounts__free(struct region_accounts *a);

bool region_accounts__has_new(const struct region_accounts *a, uint64_t lost);
struct journal;
/* Puts what is new into the frame, with the step's lost begins and ends. */
void region_accounts__put(struct region_accounts *a, struct journal *j, uint64_t lost);
/* Of a frame to which it was put. */
void region_accounts__end_frame(struct region_accounts *a, enum frame_end end);
/* After a restart: takes a J_META of the journal, which may be of here. */
void region_accounts__remember(struct region_accounts *a, const char *key, const char *text,
			       uint64_t *lost);

#endif
