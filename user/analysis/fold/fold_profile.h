/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profile of a region: what an instance counts in each of its parts, in the mean, found from
 * samples that are farther apart than the parts are long.
 */
#ifndef JP_ANALYSIS_FOLD_PROFILE_H
#define JP_ANALYSIS_FOLD_PROFILE_H

#include "analysis/fold/fold_trace.h"

#define FOLD_PARTS 200

struct fold_profile {
	double part[FOLD_PARTS];
	double outside;		    /* of all instances, per unit of time */
	double sum[FOLD_PARTS + 1]; /* of the parts before */
	double scatter; /* median distance of a pair's count from what is expected, by the mean
			   count; of pairs with n instances between them that of one, by sqrt(n) */
	struct fold_range usual; /* lengths of the instances that the profile is of */
};

/*
 * Each pair of neighbouring samples says how much was counted between them, which is the sum of
 * the profile over the parts that lie there. The profile is the solution of all these equations by
 * smooth_fit(), where a smooth profile is one that counts evenly while the thread runs: by the
 * share of the samples of a part that are not off. Others on the same CPU disturb single pairs:
 * those of which more than a tenth lies in instances of unusual length do not count, nor do those
 * that are far from what the profile expects, if they are few. Sets before and unusual of the
 * instances: the time in those before, and of these in those of unusual length. Returns false where
 * nothing was counted.
 */
bool fold_profile__find(struct fold_profile *p, const struct fold_trace *traces, size_t n);

/* What the profile expects to be counted between two instants of a trace. */
double fold_profile__between(const struct fold_profile *p, const struct fold_trace *tr, double from,
			     double to);

/* Whether nearly all of the time between two instants is in instances of usual length, or outside
 * of instances: the count of an instance that others made longer cannot be told from its
 * neighbours'. */
bool fold_profile__fits(const struct fold_profile *p, const struct fold_trace *tr, double from,
			double to);

/* How many samples of the trace are at t or before. */
size_t fold_trace__samples_until(const struct fold_trace *tr, double t);

/* The sample after the i-th at which the thread ran; nsamples: there is none. */
size_t fold_trace__next_running(const struct fold_trace *tr, size_t i);

#endif
