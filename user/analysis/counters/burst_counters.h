/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the bursts of each cluster counted, where each burst has the counters of one set. */
#ifndef JP_ANALYSIS_BURST_COUNTERS_H
#define JP_ANALYSIS_BURST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

struct model_bursts;

/* An event in a cluster. */
struct burst_counter {
	size_t n;	/* bursts that have it */
	double part;	/* the part of the cluster's run time in these bursts */
	double per_s;	/* events by the run time of these bursts */
	double per_ins; /* events by the instructions of these bursts; NaN: not known */
	double total;	/* projected to all bursts of the cluster */
	bool is_low_confidence;
};

/* labels[i] of burst i is its cluster, 0..k, or BURST_UNUSED. *out gets a row for each cluster,
 * noise first, with an element for each event of b; the caller frees it. NULL: there are no events.
 * 0 or -ENOMEM. */
#define BURST_UNUSED (~0u)
int burst_counters__of(struct burst_counter **out, const struct model_bursts *b,
		       const unsigned *labels, unsigned k);

#endif
