/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sees that what a step uses is lastingly otherwise than before: its tasks were bound to one CPU,
 * it hangs, its memory grows. That may be a finding: versions of its file are due when there are as
 * many rows as findings are made of. A step that goes on evenly has no version more, nor has one
 * that changes all the time.
 */
#ifndef JP_DAEMON_STEP_USE_WATCH_H
#define JP_DAEMON_STEP_USE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct totals;

enum use_level { USE_CPU, USE_WAIT, USE_MEMORY, USE_LEVELS }; /* threads, threads, bytes */

struct use_watch {
	uint64_t looked_ns, cpu_ns, wait_ns; /* at the last look; 0: there was none */
	double usual[USE_LEVELS];	     /* NaN: not known yet */
	unsigned differing;		     /* looks, one after another */
	uint64_t since_ns;		     /* where the first of these begins */
	uint64_t even_ns;		     /* where the last change began */
	uint64_t changed_ns; /* where the last one began that makes versions due; 0: none does */
};

/* Takes what the step has used until an instant of its rows. every: time between versions. True: it
 * is lastingly otherwise now, whether versions are due or not. */
bool use_watch__look(struct use_watch *w, const struct totals *t, uint64_t boot_ns, uint64_t every);
/* When a version is due as the step has changed, where the last one began then; UINT64_MAX: none
 * is. part: 0 to 1, the node's own place in the time in which all nodes of the step are due. */
uint64_t use_watch__due(const struct use_watch *w, uint64_t version_ns, double part,
			uint64_t every);

#endif
