/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: the samples of a thread, each with what the thread had counted until then, and its
 * instances of the region. Often nobody read the counters where an instance begins and ends:
 * fold_trace__counts() estimates those counts, and fold_trace__phases() finds where one part of the
 * code follows another.
 */
#ifndef JP_ANALYSIS_FOLD_TRACE_H
#define JP_ANALYSIS_FOLD_TRACE_H

#include <stdint.h>

#include "analysis/fold/fold.h"

struct fold_trace {
	struct fold_sample *samples; /* in time order; c is cumulative, NaN: not known */
	const uint64_t *code;	     /* of each sample: equal where the same code was executed */
	size_t nsamples;
	struct fold_instance *instances; /* in time order, which do not overlap */
	size_t ninstances;
};

/*
 * Fills samples and nsamples of all instances, from their t0 and t1, and c0 and c1 where one of
 * them is NaN, as nobody counted there: every instance is taken to count alike, and what was
 * counted between two samples is shared out among the parts of the instances between them as the
 * profile of all of them says (fold_traces.c). Samples that are off get their c likewise. c0 is
 * NaN where an instance has no sample before it or none after it, where more than a tenth
 * of the time between these is of instances of unusual length (profile_fits() there), and where an
 * instance has one that is not off and whose c is NaN: what came between that and the one before is
 * missing in all later ones. scatter, if not NULL, gets that of the profile, NaN where none was
 * needed. ANALYSIS_INSUFFICIENT: nothing was counted.
 */
enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n, double *scatter);

/* A part of the region in which the same code was executed. */
struct fold_phase {
	double from, to;  /* in [0, 1] */
	double low, high; /* where it ends lies between them, 95 % sure; of the last one 1 */
	uint64_t code;	  /* that had most samples, */
	double share;	  /* and its part of them */
	size_t samples;
	uint64_t runs; /* of one that mostly does not run: what it executes else; 0: not known.
			  Named by the caller */
};

#define FOLD_PHASES 32

/*
 * Cuts [0, 1] into the phases that describe best which code the n samples at x executed: each phase
 * is a mixture of codes, and a further one must pay for its description (minimum description
 * length). Returns how many there are in out[FOLD_PHASES]; 0: too few samples, or no memory.
 *
 * Where a phase ends is known to the samples around: low and high are the ends of all bounds whose
 * likelihood, with the mixtures of both phases, is at least 1/40 of the best one's, and the next
 * sample. By the inequality of Ville for likelihood ratios the true bound is none of them at most
 * once in 40 times on each side (confidence sets of a change point by likelihood: D. Siegmund,
 * "Confidence sets in change-point problems", 1988).
 */
size_t fold_trace__phases(const double *x, const uint64_t *code, size_t n, struct fold_phase *out);

#endif
