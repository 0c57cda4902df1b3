/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of rows by day and month, which answer questions about many jobs. */
#ifndef JP_INDEX_SUMS_H
#define JP_INDEX_SUMS_H

#include "index/index.h"

/* Marks the sums that contain the row: they must be made again. 0 or -errno. */
int sums__mark(struct index *ix, const struct row *r);
/* Makes the marked sums again. 0 or -errno. */
int sums__make(struct index *ix);
/* Makes all sums again, between index__begin() and index__commit(). */
int sums__remake(struct index *ix);

/* What sums add up, as lists of SQL: over rows of job, over rows of sums, and the columns. */
extern const char sums__of_jobs[], sums__of_sums[], sums__columns[];

#endif
