/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a filter in parts, for how something changed over it. */
#ifndef JP_CMD_JOBPROF_SITE_POINTS_H
#define JP_CMD_JOBPROF_SITE_POINTS_H

#include "index/query.h"

#define SITE_POINTS 31 /* most parts */

struct site_points {
	unsigned n;	      /* 0: the filter has no begin, and there are no parts */
	bool of_days;	      /* parts are of whole days */
	int64_t from, length; /* days since 1970, or s */
};

/* At most `most` parts, fewer where there are fewer days; of whole days if the filter is. */
void site_points__init(struct site_points *p, struct index *ix, const struct job_filter *f,
		       unsigned most);
/* Adds the number of the part of a row of a table with days s, or of jobs j, as SQL. */
void site_points__add(const struct site_points *p, struct query *q, bool is_sums);

#endif
