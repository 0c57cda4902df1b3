/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executions of a region with the samples of their threads. */
#ifndef JP_ANALYSIS_FOLD_TRACES_H
#define JP_ANALYSIS_FOLD_TRACES_H

#include "analysis/fold/fold_trace.h"
#include "model/points.h"

/* What the thread had counted where an instance begins and ends; NaN: not known. */
struct bounds {
	double begin[POINT_COUNTERS], end[POINT_COUNTERS];
};

/* The threads of a region, over arrays for all of them. */
struct traces {
	struct fold_trace *trace;
	size_t n;
	struct fold_instance *instances;
	size_t ninstances;
	struct bounds *bounds;	     /* of the instances; NULL: nobody counted there */
	struct fold_sample *samples; /* of all points of the file */
	uint64_t *code;
	double sample_s; /* time that a sample costs the thread; it has been subtracted from all
			    times */
	double blur; /* the part of an execution's length that the subtraction leaves uncertain */
};

/* The executions of a region (its index among the names of p), without counts. traces__free() in
 * all cases. 0 or -ENOMEM. */
int traces__of(struct traces *t, const struct points *p, unsigned region);
/* A trace for each thread, without bounds, with room for so many instances but without any. 0 or
 * -ENOMEM. */
int traces__of_threads(struct traces *t, const struct points *p, size_t instances);
/* Sets the counts of the samples, and those of the bounds that are known. */
void traces__set_counter(struct traces *t, const struct points *p, enum point_counter c);
/* Does what traces__set_counter() does, and finds the counts at the other bounds.
 * ANALYSIS_INSUFFICIENT: the counter was never counted. */
enum analysis_status traces__count(struct traces *t, const struct points *p, enum point_counter c,
				   double *scatter);
void traces__free(struct traces *t);

#endif
