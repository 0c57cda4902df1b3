/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What folding has to do with samples of a thread whose region's begin and end often nobody counted
 * at: a trace is the thread's samples, with what it had counted until each, and its instances of
 * the region. fold_trace__counts() finds what was counted at the bounds, fold_trace__phases() where
 * one part of the code follows another.
 */
#ifndef JP_ANALYSIS_FOLD_TRACE_H
#define JP_ANALYSIS_FOLD_TRACE_H

#include <stdint.h>

#include "analysis/fold/fold.h"

struct fold_trace {
	const struct fold_sample *samples; /* in time order; c is cumulative */
	const uint64_t *code; /* of each sample: equal where the same code was executed */
	size_t nsamples;
	struct fold_instance *instances; /* in time order, which do not overlap */
	size_t ninstances;
};

/*
 * Fills samples and nsamples of all instances, from their t0 and t1, and c0 and c1 where one of
 * them is NaN, as nobody counted there: every instance is taken to count alike, and what was
 * counted between two samples is shared out among the parts of the instances between them as the
 * likeliest profile of all of them says (expectation maximisation for counts of intervals, from a
 * flat profile). c0 is NaN where an instance has no sample before it or none after it.
 * ANALYSIS_INSUFFICIENT: nothing was counted.
 */
enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n);

/* A part of the region in which the same code was executed. */
struct fold_phase {
	double from, to; /* in [0, 1] */
	uint64_t code;	 /* that had most samples, */
	double share;	 /* and its part of them */
	size_t samples;
};

#define FOLD_PHASES 32

/*
 * Cuts [0, 1] into the phases that describe best which code the n samples at x executed: each phase
 * is a mixture of codes, and a further one must pay for its description (minimum description
 * length). Returns how many there are in out[FOLD_PHASES]; 0: too few samples, or no memory.
 */
size_t fold_trace__phases(const double *x, const uint64_t *code, size_t n, struct fold_phase *out);

#endif
