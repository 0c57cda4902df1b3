/* SPDX-License-Identifier: GPL-2.0-only */
/* From the rows of a file to one folded region. */
#ifndef JP_CMD_JOBPROF_FOLD_REGION_H
#define JP_CMD_JOBPROF_FOLD_REGION_H

#include "cmd/jobprof/fold/fold_traces.h"
#include "view/fold/fold_view.h"

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
