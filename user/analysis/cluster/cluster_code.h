/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what bursts execute, by the samples of the family fold in them, or by the regions of
 * programs in which they lie. */
#ifndef JP_ANALYSIS_CLUSTER_CODE_H
#define JP_ANALYSIS_CLUSTER_CODE_H

#include "analysis/cluster/burst_clusters.h"
#include "model/bursts.h"
#include "model/points.h"

#define CLUSTER_CODES	  26	     /* those with most run time */
#define CLUSTER_CODE_ROWS (1u << 20) /* samples of a file that are read */

/* The code in which most samples of a cluster or burst are. */
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
 * Puts code in the place of clusters: the label of a burst is the function or kind of library of
 * most of its samples; label 0: it has no sample, or that function is not among the CLUSTER_CODES.
 * code->names gets c->k of them, by their run time. 0; -ENOMSG: the file has no samples; -EMSGSIZE:
 * it has more bursts than are kept; or as cluster_code__of().
 */
int cluster_code__label(struct cluster_code *code, struct burst_clusters *c,
			const struct model_bursts *b);
void cluster_code__free(struct cluster_code *c);

/* The names of the regions, ordered by their run time; c->k of them. */
struct cluster_regions {
	char **names;
	unsigned n;
};

/*
 * Puts regions in the place of clusters: the label of a burst is the innermost region that its
 * thread executed during at least 95 % of the burst; label 0: none. 0; -ENXIO: no region has an
 * execution; -ESTALE: a clock was set meanwhile, by which bursts have their times; -ENOMEM, or as
 * reader__open() and points__read().
 */
int cluster_regions__of(struct cluster_regions *r, struct burst_clusters *c,
			const struct model_bursts *b);
void cluster_regions__free(struct cluster_regions *r);

#endif
