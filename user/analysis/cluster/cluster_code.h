/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bursts execute: by the samples of the family fold that were taken in them, and by the
 * regions of programs in which they lie. */
#ifndef JP_ANALYSIS_CLUSTER_CODE_H
#define JP_ANALYSIS_CLUSTER_CODE_H

#include "analysis/cluster/burst_clusters.h"
#include "model/bursts.h"
#include "model/points.h"

#define CLUSTER_CODES	  26	     /* those with most run time */
#define CLUSTER_CODE_ROWS (1u << 20) /* samples of a file that are read */

/* What most samples of a cluster or of a burst are in. */
struct burst_code {
	const char *name; /* of a function or kind of library; NULL: there is no sample */
	size_t samples, all;
};

struct cluster_code {
	struct points points;
	struct burst_code *clusters; /* 0..k; NULL: the file has no samples */
	struct burst_code *singles;  /* by burst: of those in no cluster */
	char *names[CLUSTER_CODES];  /* cluster_code__label() */
};

/* b was read from the same steps and nodes of the file. 0, also without samples; -EMSGSIZE: there
 * are more than CLUSTER_CODE_ROWS; or as points__read(). cluster_code__free() in all cases. */
int cluster_code__of(struct cluster_code *out, const struct model_bursts *b,
		     const struct burst_clusters *c);
/*
 * The code takes the place of clusters: a burst is of the function or kind of library that most of
 * its samples are in; label 0: it has none, or it is of one beyond CLUSTER_CODES. code->names gets
 * c->k of them, by their run time. 0; -ENOMSG: the file has no samples; -EMSGSIZE: it has more
 * bursts than are kept; or as cluster_code__of().
 */
int cluster_code__label(struct cluster_code *code, struct burst_clusters *c,
			const struct model_bursts *b);
void cluster_code__free(struct cluster_code *c);

/* The regions are named, by their run time; k of c. */
struct cluster_regions {
	char **names;
	unsigned n;
};

/*
 * A burst is of the innermost region in whose executions by the same thread at least 95 % of it
 * lies; label 0: of none. 0; -ENXIO: no region has an execution; -ESTALE: a clock was set
 * meanwhile, by which bursts have their times; -ENOMEM, or as reader__open() and points__read().
 */
int cluster_regions__of(struct cluster_regions *r, struct burst_clusters *c,
			const struct model_bursts *b);
void cluster_regions__free(struct cluster_regions *r);

#endif
