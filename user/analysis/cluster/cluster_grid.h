/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A grid of cells that are so small that all points of a cell are neighbours: their side is a
 * little less than eps / sqrt(dims). Neighbours of a point are at most CLUSTER_REACH cells away in
 * each dimension.
 */
#ifndef JP_ANALYSIS_CLUSTER_GRID_H
#define JP_ANALYSIS_CLUSTER_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/cluster/cluster.h"
#include "analysis/cluster/kdtree.h"

#define CLUSTER_REACH 2
/* (2 * CLUSTER_REACH + 1) to the power of CLUSTER_MAX_DIMS */
#define CLUSTER_MAX_NEIGHBOURS 125

struct cluster_cell {
	int32_t at[CLUSTER_MAX_DIMS];
	size_t first, n, ncore; /* its places in rows[]; the core points come first */
	struct kdtree tree;	/* of the core points, made when it is needed */
	size_t parent;		/* the cell that leads to the representative of its cluster */
	unsigned label;		/* representatives: of the cluster, 0 before it has one */
};

/* Cells with points, in the order of their coordinates, the last one fastest. */
struct cluster_grid {
	const double *v;
	unsigned dims;
	double squared_eps;
	size_t n, *rows, *cell_of; /* rows by place, cells by row */
	struct cluster_cell *cells;
	size_t ncells;
};

/* ANALYSIS_UNSUITABLE: see cluster__dbscan(). */
enum analysis_status cluster_grid__build(struct cluster_grid *g, const double *v, size_t n,
					 unsigned dims, double eps);
void cluster_grid__free(struct cluster_grid *g);
/* The cells that may have neighbours of the points of a cell, which is one of them; returns how
 * many. */
size_t cluster_grid__neighbours(const struct cluster_grid *g, const struct cluster_cell *c,
				size_t cells[CLUSTER_MAX_NEIGHBOURS]);

#endif
