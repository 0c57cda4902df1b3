/* SPDX-License-Identifier: GPL-2.0-only */
/* What the bursts of each cluster counted, where each burst has the counters of one set. */
#ifndef JP_ANALYSIS_BURST_COUNTERS_H
#define JP_ANALYSIS_BURST_COUNTERS_H

#include "analysis/counters/counters.h"

/* n bursts have a cluster in 0..nclusters, a run time in s, and a column per event, NaN where the
 * burst does not have it. */
struct counted_bursts {
	const unsigned *cluster;
	const double *run;
	const double *const *counts;
	size_t n;
	unsigned ncounters, nclusters;
	int instructions; /* which of the events they are; -1: none */
};

/* An event in a cluster. */
struct burst_counter {
	size_t n;	/* bursts that have it */
	double part;	/* of the cluster's run time, that of these bursts */
	double per_s;	/* by their run time */
	double per_ins; /* by their instructions; NaN: not known */
	double total;	/* projected to all bursts of the cluster */
	bool is_low_confidence;
};

/*
 * Fills nclusters + 1 rows of ncounters. The total is per_ins times the cluster's instructions,
 * which are projected by run time; without instructions, per_s times its run time. Errors as
 * counters__project().
 */
enum analysis_status burst_counters__of(const struct counted_bursts *b, struct burst_counter *out);

#endif
