/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows clusters of bursts over windows of time of one file, or over several files. */
#ifndef JP_ANALYSIS_BURST_TRACK_H
#define JP_ANALYSIS_BURST_TRACK_H

#include "analysis/cluster/burst_clusters.h"

/* A window or a file. */
struct burst_piece {
	char *label;
	double *run; /* run times of the bursts of c, then their other columns */
	struct burst_clusters c;
	/* burst_track__compare() fills: */
	unsigned *names;	    /* of clusters 1..c.k, the same over all pieces */
	double share_before, share; /* parts of the run time of the piece before, and of this one,
				       in clusters that both have; NaN in the first piece */
	bool equivalent;	    /* to the piece before */
	unsigned streak; /* number of equivalent pieces in a row that end with this one */
};

/* All zeros before the first piece. */
struct burst_track {
	struct burst_piece *v;
	size_t n;
	size_t all, kept; /* bursts of the files, and those that were read */
	unsigned names;	  /* 1..names */
	size_t stable;	  /* the first piece that ends CLUSTER_IN_A_ROW equivalent ones; n: there is
			     none */
	struct cluster_level level;
};

/* Adds a piece of all bursts. label is copied. 0 or -ENOMEM. */
int burst_track__add(struct burst_track *t, const struct model_bursts *b,
		     const struct cluster_request *q, const char *label);
/* Adds all windows of a file; a burst belongs to the window in which it ends. 0; -E2BIG: more than
 * 1000; -ENOMEM. */
int burst_track__windows(struct burst_track *t, const struct model_bursts *b,
			 const struct cluster_request *q, double window_s);
/* Adds the windows that jobprof reduce --follow has stored in a file, with its comparisons of them.
 * 0; -ENODATA: there is none; or as reader__open(). */
int burst_track__stored(struct burst_track *t, const char *path);
/* Names the clusters of all pieces. Pieces without clusters have no names, and are not equivalent
 * to any. */
enum analysis_status burst_track__compare(struct burst_track *t, unsigned dims);
void burst_track__free(struct burst_track *t);

#endif
