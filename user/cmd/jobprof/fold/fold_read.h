/* SPDX-License-Identifier: GPL-2.0-only */
/* The samples and executions of a file's nodes, for one fold. */
#ifndef JP_CMD_JOBPROF_FOLD_READ_H
#define JP_CMD_JOBPROF_FOLD_READ_H

#include "jobfile/select.h"
#include "model/points.h"
#include "model/symbols.h"

/* Reads what all nodes have of the chosen steps, names the functions, and fills the gaps. 0;
 * -ENODATA: there are no samples; -ESRCH: there is no such step; or as points__read().
 * points__free() in all cases. */
int fold_read__points(struct points *p, struct reader *r, const struct selection *steps,
		      struct symbols *symbols);

#endif
