/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a job file is of the job that is meant, or of an earlier one of that id. */
#ifndef JP_JOBFILE_MERGE_AGE_H
#define JP_JOBFILE_MERGE_AGE_H

#include <stdbool.h>
#include <stdint.h>

#include "jobfile/merge/merge.h"

/* What Slurm has said of the job; zeroed before the first question. */
struct merge_age {
	uint64_t asked_ns;
	int64_t job_start;
};

/* Whether the file is older than the first job of o, whose begin is in o, or else asked of Slurm.
 * False also where neither knows the begin. */
bool merge_age__older(struct merge_age *a, const struct merge_opts *o, const char *path);

#endif
