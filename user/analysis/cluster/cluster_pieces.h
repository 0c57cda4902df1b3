/* SPDX-License-Identifier: GPL-2.0-only */
/* Bursts of files as clusters see them: their columns, and pieces by file or window. */
#ifndef JP_ANALYSIS_CLUSTER_PIECES_H
#define JP_ANALYSIS_CLUSTER_PIECES_H

#include "analysis/cluster/burst_track.h"
#include "model/bursts.h"

/* How bursts are compared unless somebody says so otherwise. */
#define CLUSTER_REQUEST ((struct cluster_request){.by = {FEATURE_RUN, FEATURE_GAP}, .dims = 2})

struct burst_columns burst_columns__of(const struct model_bursts *b);

struct cluster_pieces {
	struct burst_piece *v;
	double **columns; /* of each piece, what its run points to */
	char **labels;
	size_t n;
	size_t all, kept; /* bursts of the files, and those that were read */
};

/* Adds a piece of all bursts. label is copied. 0 or -ENOMEM. */
int cluster_pieces__add(struct cluster_pieces *p, const struct model_bursts *b,
			const struct cluster_request *q, const char *label);
/* Adds all windows of a file, as bursts end in them. 0; -E2BIG: too many; -ENOMEM. */
int cluster_pieces__windows(struct cluster_pieces *p, const struct model_bursts *b,
			    const struct cluster_request *q, double window_s);
/* A zeroed piece; label is copied, columns are the pieces'. NULL: there is no memory. */
struct burst_piece *cluster_pieces__new(struct cluster_pieces *p, const char *label,
					double *columns);
void cluster_pieces__free(struct cluster_pieces *p);

#endif
