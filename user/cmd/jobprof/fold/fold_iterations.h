/* SPDX-License-Identifier: GPL-2.0-only */
/* The iterations of threads that have named no region. */
#ifndef JP_CMD_JOBPROF_FOLD_ITERATIONS_H
#define JP_CMD_JOBPROF_FOLD_ITERATIONS_H

#include "analysis/fold/fold_period.h"
#include "analysis/fold/fold_train.h"
#include "cmd/jobprof/fold/fold_traces.h"

#define ITERATIONS_MAX (1u << 20) /* that are looked for, of all threads */

/* How they are found: by the code of samples, or by bursts, which say when each of them begins. */
struct iterations {
	struct fold_period period; /* of samples; NaN: they have none */
	struct fold_train train;   /* of bursts; NaN: they have none, or none of that period */
	struct fold_wake *wakes;   /* of all threads; NULL: iterations are those of the samples */
	const struct points *p;
};

/* Looks at the thread with most samples. The period that the code of samples has decides which of
 * the bursts' waits end iterations; without such a period bursts are believed alone. 0; -ENODATA:
 * there are no iterations; -ENOMEM. iterations__free() in all cases. */
int iterations__find(struct iterations *it, const struct traces *t, const struct points *p);
/* Fills the instances of t, which traces__of_threads() has made. shift moves the begin of those
 * that were found by samples, in periods. */
void iterations__make(struct traces *t, const struct iterations *it, double shift);
void iterations__free(struct iterations *it);

#endif
