/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of the points of a fold, for its own files. */
#ifndef JP_ANALYSIS_JOB_REDUCE_FOLD_COLUMNS_H
#define JP_ANALYSIS_JOB_REDUCE_FOLD_COLUMNS_H

#include "model/points.h"

/* Rows with the first ones are points, which the sample is of; the others are summed up. */
enum reduce_fold_column {
	FOLD_X,	    /* part of the execution's length, */
	FOLD_KIND,  /* what the sample executed: JP_MODULE_..., */
	FOLD_BLOCK, /* and where, see FOLD_CODE(); of a function that is known its block, */
	FOLD_Y,	    /* part of its count, for each counter */
	FOLD_OF_POINT = FOLD_Y + POINT_FIXED,
	FOLD_LENGTH = FOLD_OF_POINT,		    /* of an execution that is folded */
	FOLD_COUNTED,				    /* by each counter, of those that count */
	FOLD_COUNTING = FOLD_COUNTED + POINT_FIXED, /* and their lengths */
	FOLD_LOST = FOLD_COUNTING + POINT_FIXED,    /* samples, and bounds, per node */
	FOLD_COLUMNS = FOLD_LOST + 2,
};

extern const char *const reduce_fold_columns[FOLD_COLUMNS];

#define FOLD_KIND_SHIFT 56
#define FOLD_BLOCKS	((UINT64_C(1) << FOLD_KIND_SHIFT) - 1)

#endif
