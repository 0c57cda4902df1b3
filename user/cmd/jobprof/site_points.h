/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a filter in parts, for how something changed over it. */
#ifndef JP_CMD_JOBPROF_SITE_POINTS_H
#define JP_CMD_JOBPROF_SITE_POINTS_H

#include "index/query.h"

#define SITE_POINTS 31 /* most parts */

struct site_points {
	unsigned n;	 /* 0: the filter has no begin, and there are no parts */
	bool of_days;	 /* parts are of whole days, of table's column "day" */
	int64_t from, length; /* days since 1970, or s */
};

/* At most `most` parts, fewer where there are fewer days. of_days: the filter begins and ends with days
 * of the index (query__is_of_days()). */
void site_points__init(struct site_points *p, const struct job_filter *f, unsigned most,
		       bool of_days);
/* Adds the number of the part of a row, of jobs j or of days s, as SQL. */
void site_points__add(const struct site_points *p, struct query *q);

#endif
