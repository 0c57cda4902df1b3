/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a report that are no facts: clusters of bursts, a folded region, the hottest stacks.
 */
#ifndef JP_VIEW_REPORT_BESIDES_H
#define JP_VIEW_REPORT_BESIDES_H

#include <stdbool.h>

#include "model/job/job.h"
#include "view/report/report.h"

/*
 * Reads and computes these of a job's one file, each in a child with limits; of several files, and
 * of what cannot be read, they say that. Stacks take longer, as functions are looked up: only with
 * with_stacks. 0; -EINTR: a signal ended a child, and is meant for this process; -errno: no
 * children. report_besides__free() in all cases.
 */
int report_besides__read(struct report_besides *out, const struct job_input *inputs, unsigned n,
			 bool with_stacks);
void report_besides__free(struct report_besides *b);

/* In a child: what /analysis of the file has of that name, as stored__read() gives it. NULL:
 * nothing, or the input is one step of several, and the result may be of others. */
json_t *report_besides__stored(const struct job_input *input, const char *name, const char *but);

#endif
