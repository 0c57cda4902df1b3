/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the part of a row that is about a running job. */
#ifndef JP_INDEX_ROW_NOW_H
#define JP_INDEX_ROW_NOW_H

#include "analysis/job/facts.h"
#include "findings/findings.h"
#include "index/row.h"
#include "model/job/job.h"

/* Sets what the job does now, and puts the findings that hold now in place of the row's. facts: of
 * all its time. 0 or -errno, as live__judge(). */
int row_now__of(struct row *r, const struct model_job *j, const struct facts *f,
		const struct rules_options *rules);

#endif
