/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a filter in parts, for how something changed over it. */
#ifndef JP_CMD_JOBPROF_SITE_POINTS_H
#define JP_CMD_JOBPROF_SITE_POINTS_H

#include "index/query.h"
#include "view/site/site_table.h"

#define SITE_POINTS 31 /* most parts */

struct site_points {
	unsigned n; /* 0: the filter has no begin, and there are no parts */
	enum { PARTS_OF_SECONDS, PARTS_OF_DAYS, PARTS_OF_MONTHS } of; /* whole ones */
	int64_t from, length; /* days since 1970, months since the year 0, or s */
};

/* At most `most` parts, fewer where there are fewer days; of whole days if the filter is. */
void site_points__init(struct site_points *p, struct index *ix, const struct job_filter *f,
		       unsigned most);
/* Makes them months, where the parts are of days and the time is long: sums by month have these,
 * and are far fewer than those by day. */
void site_points__use_months(struct site_points *p);
/* Adds the number of the part of a row of a table with days s, or of jobs j, as SQL. */
void site_points__add(const struct site_points *p, struct query *q, bool is_sums);
/* Takes rows of a key, a part of the time, and a number, or two whose quotient is the number, in
 * the order of keys. Sets the column of t's row of that key, without the sum, if there is one. A
 * part without a number is 0, without a quotient not known. 0 or -errno. */
int site_points__take(const struct site_points *p, struct db_rows *r, struct site_table *t,
		      unsigned column);

#endif
