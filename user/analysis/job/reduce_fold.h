/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds a region over all nodes: process 0 chooses the region, and the usual length of its
 * executions, by a sample of executions; then every process makes points of its own samples. Each
 * node estimates the counts at the bounds of executions by its own samples. */
#ifndef JP_ANALYSIS_JOB_REDUCE_FOLD_H
#define JP_ANALYSIS_JOB_REDUCE_FOLD_H

#include "analysis/fold/folded.h"
#include "analysis/reduction/reduction.h"
#include "pool/message.h"

#define FOLD_SERIES "Regions"
#define FOLD_SAMPLE 2000u /* executions, and points, at most 50000 */

/* What the second pass folds. */
struct reduce_fold {
	char region[256];	 /* "": there is none */
	struct fold_range range; /* kept: of the sample */
	uint64_t executions;
};

/* Adds the lengths of the executions on a node: a column per region, or only that of the region
 * `only`. 0 or -errno. */
int reduce_fold__lengths(struct reduction *to, const struct points *p, const char *place,
			 const char *only);
/* Adds the points of that region on a node, and sums over its executions. 0 or -errno. */
int reduce_fold__points(struct reduction *to, const struct points *p, const char *place,
			const struct reduce_fold *of);

/* Chooses the region, and its usual lengths. 0; -ENOENT, logged. */
int reduce_fold__choose(struct reduce_fold *f, const struct reduction *lengths);
void reduce_fold__put(struct message *to, const struct reduce_fold *f);
/* 0 or -EBADMSG. */
int reduce_fold__take(struct message *from, struct reduce_fold *f);

/* Folds the ordered points; the names stay theirs. reduce_fold__free() in all cases. 0; 1, logged.
 */
int reduce_fold__result(struct folded *f, const struct reduce_fold *of,
			const struct reduction *points);
void reduce_fold__free(struct folded *f);

#endif
