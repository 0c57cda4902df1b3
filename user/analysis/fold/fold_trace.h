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
 * Fills samples and nsamples of all instances by their t0 and t1, and estimates c0 and c1 where one
 * of them is NaN, because nobody counted there. All instances are assumed to count alike: the count
 * between two samples is divided among the parts of instances between them by the profile of all
 * instances (fold_traces.c). Samples that are off get their c in the same way. c0 is NaN where an
 * instance has no sample before it or none after it, where more than a tenth of the time between
 * these is of instances of unusual length (profile_fits() there), and where an instance has a
 * sample that is not off and whose c is NaN: the count between that sample and the one before is
 * missing in all later samples. *scatter, if scatter is not NULL, becomes the profile's, or NaN
 * where no profile was needed. ANALYSIS_INSUFFICIENT: nothing was counted.
 */
enum analysis_status fold_trace__counts(const struct fold_trace *traces, size_t n, double *scatter);

/* A part of the region in which the same code was executed. */
struct fold_phase {
	double from, to;  /* in [0, 1] */
	double low, high; /* bounds of its end, 95 % sure; 1 for the last phase */
	uint64_t code;	  /* the code with most samples */
	double share;	  /* that code's part of the samples */
	size_t samples;
	uint64_t runs; /* of a phase that mostly does not run: the code that it executes at other
			  times; 0: not known. The caller sets it */
};

#define FOLD_PHASES 32

/*
 * Divides [0, 1] into the phases that best describe which code the n samples at x executed. Each
 * phase is a mixture of codes; a further phase must shorten the description by more than it adds
 * (minimum description length). Returns how many there are in out[FOLD_PHASES]; 0: too few samples,
 * or no memory.
 *
 * The end of a phase is known up to the distance of samples: low and high enclose all ends whose
 * likelihood, with the mixtures of both phases, is at least 1/40 of the best one's, up to the next
 * sample on each side. By the inequality of Ville for likelihood ratios the true bound is none of
 * them at most once in 40 times on each side (confidence sets of a change point by likelihood: D.
 * Siegmund, "Confidence sets in change-point problems", 1988).
 */
size_t fold_trace__phases(const double *x, const uint64_t *code, size_t n, struct fold_phase *out);

#endif
