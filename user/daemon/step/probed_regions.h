/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions that programs do not name: functions with probes. Each time that a thread comes to one
 * costs microseconds, so their cost has a budget. Where it is exceeded, the dearest pause until the
 * budget has paid for what they cost.
 */
#ifndef JP_DAEMON_STEP_PROBED_REGIONS_H
#define JP_DAEMON_STEP_PROBED_REGIONS_H

#include "daemon/step/external_series.h"
#include "daemon/step/regions.h"
#include "kern/kern.h"

#define PROBED_SAVED_S 5.0 /* so many seconds' budget may be spent at once */

struct probed_region {
	uint64_t traps;
	double spent_ns; /* of late, and since the last pause of any began */
	unsigned pauses;
	bool paused, gone;	    /* gone: the kernel did not take its probes again */
	uint64_t first_ns;	    /* when its first pause began */
	double paused_s;	    /* how long all but the last were */
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC: only what is between is looked at */
	uint64_t paused_ns;	    /* when its last pause began */
};

struct probed_regions {
	const struct kern_region *list;
	unsigned n;
	double percent;				 /* of a CPU, for all */
	double debt_ns;				 /* spent, above what the time since has paid for */
	double limit_ns;			 /* of the debt: more begins a pause */
	uint64_t watched_ns, began_ns, ended_ns; /* ended_ns: 0 until the step has ended */
	uint64_t ring_lost; /* crossings that the kernel side had lost at the last one */
	struct probed_region of[JP_REGIONS];
	struct region_pairs pairs;
};

/* NULL: no memory. The list stays the caller's. */
struct probed_regions *probed_regions__new(const struct kern_region *list, unsigned n,
					   double percent, uint64_t now_ns);

/* Takes away the probes that cost more than the budget, and puts them back. */
void probed_regions__watch(struct probed_regions *r, struct kern *k, uint64_t now_ns);
/* When that is due next; UINT64_MAX: there are none. */
uint64_t probed_regions__due(const struct probed_regions *r);

/* A thread has begun or ended a region. True: *x is an execution of the region *name. */
bool probed_regions__take(struct probed_regions *r, const struct jp_crossing *c,
			  struct external_region *x, const char **name);

/* The step that the text is about began and ended then. */
void probed_regions__step(struct probed_regions *r, uint64_t began_ns, uint64_t ended_ns);

/* Begins and ends that are in no execution, once all has ended. */
uint64_t probed_regions__lost(const struct probed_regions *r, const struct kern *k);

/* What the probes cost, which regions paused and for how long, and which no process of the node has
 * executed. Returns how many these are. */
unsigned probed_regions__text(const struct probed_regions *r, const struct kern *k, char *text,
			      size_t len);

#endif
