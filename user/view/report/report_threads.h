/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time of threads went, of the job and of its units. */
#ifndef JP_VIEW_REPORT_THREADS_H
#define JP_VIEW_REPORT_THREADS_H

#include <jansson.h>

#include "model/job.h"

#define THREAD_STATES 17

/* Parts of the time that the threads of a unit lived, from its totals; NaN: not known. Without the
 * kernel's part the first has it, too. */
void report_threads__shares(const double total[static N_QUANTITIES],
			    double share[static THREAD_STATES]);
/* thread_budget of docs/report-json.md. */
json_t *report_threads__json(const struct model_job *j);

#endif
