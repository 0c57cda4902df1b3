/* SPDX-License-Identifier: GPL-2.0-only */
/* From the rows of a file to one folded region. */
#ifndef JP_CMD_JOBPROF_FOLD_REGION_H
#define JP_CMD_JOBPROF_FOLD_REGION_H

#include "view/fold/fold_view.h"

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
};

/* The executions of a region, a number of p's names; without counts. traces__free() in all cases.
 * 0 or -ENOMEM. */
int traces__of(struct traces *t, const struct points *p, unsigned region);
/* Sets the counts at their bounds. ANALYSIS_INSUFFICIENT: it was never counted. */
enum analysis_status traces__count(struct traces *t, const struct points *p, enum point_counter c,
				   double *scatter);
void traces__free(struct traces *t);

struct fold_query {
	const char *region;	    /* NULL: the one that took most time */
	enum point_counter counter; /* POINT_EVENT: the points' event */
	double nugget;
};

/* Folds what p has; region names stay p's. 0; -ENOENT: no such region; -ENODATA: there is no
 * execution of it with a sample; -ENOMEM. */
int fold_region__of(struct folded *f, const struct points *p, const struct fold_query *q);
void fold_region__free(struct folded *f);

#endif
