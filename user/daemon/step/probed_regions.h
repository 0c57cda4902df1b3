/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions that programs do not name: functions with probes. A probe costs microseconds each time
 * that a thread comes to it, so probes have a budget. Where it is exceeded, the probes of the most
 * expensive regions are removed until the budget has paid for their cost.
 */
#ifndef JP_DAEMON_STEP_PROBED_REGIONS_H
#define JP_DAEMON_STEP_PROBED_REGIONS_H

#include "daemon/step/external_series.h"
#include "daemon/step/regions.h"
#include "kern/kern.h"

#define PROBED_SAVED_S 5.0 /* so many seconds' budget may be spent at once */

struct probed_region {
	uint64_t traps;
	double spent_ns; /* cost of late, and since the last pause of any region began */
	unsigned pauses;
	bool paused, gone;	    /* gone: the kernel did not take its probes again */
	uint64_t first_ns;	    /* when its first pause began */
	double paused_s;	    /* length of all pauses but the last */
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC: only crossings between these count */
	uint64_t paused_ns;	    /* when its last pause began */
};

struct probed_regions {
	const struct kern_region *list;
	unsigned n;
	double percent;	 /* budget for all regions, of a CPU */
	double debt_ns;	 /* cost that the time since then has not paid for */
	double limit_ns; /* limit of the debt, above which a pause begins */
	uint64_t watched_ns, began_ns, ended_ns; /* ended_ns: 0 until the step has ended */
	uint64_t ring_lost; /* crossings that the kernel side had lost at the last one */
	struct probed_region of[JP_REGIONS];
	struct region_pairs pairs;
};

/* NULL: no memory. The list stays the caller's. */
struct probed_regions *probed_regions__new(const struct kern_region *list, unsigned n,
					   double percent, uint64_t now_ns);

/* Removes the probes that cost more than the budget, and puts them back later. */
void probed_regions__watch(struct probed_regions *r, struct kern *k, uint64_t now_ns);
/* When probed_regions__watch() is due next; UINT64_MAX: there are no probes. */
uint64_t probed_regions__due(const struct probed_regions *r);

/* Takes the begin or end of a region. True: *x is an execution, now complete, of the region *name.
 */
bool probed_regions__take(struct probed_regions *r, const struct jp_crossing *c,
			  struct external_region *x, const char **name);

/* Sets when the step of probed_regions__text() began and ended. */
void probed_regions__step(struct probed_regions *r, uint64_t began_ns, uint64_t ended_ns);

/* The number of begins and ends that are in no execution, after the end of everything. */
uint64_t probed_regions__lost(const struct probed_regions *r, const struct kern *k);

/* Writes what the probes cost, which regions paused and for how long, and which were never executed
 * on this node. Returns how many regions paused or were never executed. */
unsigned probed_regions__text(const struct probed_regions *r, const struct kern *k, char *text,
			      size_t len);

#endif
