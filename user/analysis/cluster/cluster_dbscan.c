// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clusters: DBSCAN over the cells of a grid. A cell with min_pts points or more has core points
 * only, and all core points of a cell are in one cluster, so clusters are joined cell by cell
 * (A. Gunawan, "A faster algorithm for DBSCAN", 2013).
 */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cluster/cluster_grid.h"

#define MANY 32 /* core points of a cell for which a tree is worth its making */

static const double *point(const struct cluster_grid *g, size_t row)
{
	return g->v + row * g->dims;
}

static void swap(size_t *a, size_t *b)
{
	size_t was = *a;

	*a = *b;
	*b = was;
}

/* Whether a point has min_pts neighbours in these cells. */
static bool is_core(const struct cluster_grid *g, size_t row, const size_t *cells, size_t ncells,
		    size_t min_pts)
{
	size_t found = 0;

	for (size_t i = 0; i < ncells; i++) {
		const struct cluster_cell *c = &g->cells[cells[i]];

		for (size_t p = c->first; p < c->first + c->n; p++) {
			found += squared_distance(point(g, row), point(g, g->rows[p]), g->dims) <=
				 g->squared_eps;
			if (found >= min_pts)
				return true;
		}
	}
	return false;
}

/* Core points come first among the places of each cell. */
static void find_cores(struct cluster_grid *g, size_t min_pts)
{
	size_t cells[CLUSTER_MAX_NEIGHBOURS];

	for (size_t i = 0; i < g->ncells; i++) {
		struct cluster_cell *c = &g->cells[i];
		size_t n;

		if (c->n >= min_pts) {
			c->ncore = c->n;
			continue;
		}
		n = cluster_grid__neighbours(g, c, cells);
		for (size_t p = c->first; p < c->first + c->n; p++) {
			if (is_core(g, g->rows[p], cells, n, min_pts))
				swap(&g->rows[p], &g->rows[c->first + c->ncore++]);
		}
	}
}

static enum analysis_status make_trees(struct cluster_grid *g)
{
	enum analysis_status status = ANALYSIS_OK;

	for (size_t i = 0; status == ANALYSIS_OK && i < g->ncells; i++) {
		struct cluster_cell *c = &g->cells[i];

		if (c->ncore > MANY)
			status = kdtree__build(&c->tree, g->v, g->dims, g->rows + c->first,
					       c->ncore);
	}
	return status;
}

/* Whether a core point of the cell is a neighbour of q. */
static bool reaches(const struct cluster_grid *g, const struct cluster_cell *c, const double *q)
{
	size_t row;

	if (c->tree.n)
		return kdtree__nearest(&c->tree, q, g->squared_eps, &row) < INFINITY;
	for (size_t p = c->first; p < c->first + c->ncore; p++) {
		if (squared_distance(q, point(g, g->rows[p]), g->dims) <= g->squared_eps)
			return true;
	}
	return false;
}

static bool are_linked(const struct cluster_grid *g, const struct cluster_cell *a,
		       const struct cluster_cell *b)
{
	const struct cluster_cell *few = a->ncore < b->ncore ? a : b, *many = few == a ? b : a;

	for (size_t p = few->first; p < few->first + few->ncore; p++) {
		if (reaches(g, many, point(g, g->rows[p])))
			return true;
	}
	return false;
}

static size_t representative(struct cluster_grid *g, size_t cell)
{
	struct cluster_cell *c = g->cells;

	while (c[cell].parent != cell) {
		c[cell].parent = c[c[cell].parent].parent;
		cell = c[cell].parent;
	}
	return cell;
}

static void join_cells(struct cluster_grid *g)
{
	size_t cells[CLUSTER_MAX_NEIGHBOURS];

	for (size_t i = 0; i < g->ncells; i++) {
		size_t n = g->cells[i].ncore ? cluster_grid__neighbours(g, &g->cells[i], cells) : 0;

		for (size_t k = 0; k < n; k++) {
			size_t a, b;

			if (cells[k] <= i || !g->cells[cells[k]].ncore)
				continue;
			a = representative(g, i);
			b = representative(g, cells[k]);
			if (a != b && are_linked(g, &g->cells[i], &g->cells[cells[k]]))
				g->cells[b].parent = a;
		}
	}
}

/* Clusters are numbered by their first core point. labels[] marks the core points with 1 before,
 * and holds their clusters afterwards. */
static unsigned number_clusters(struct cluster_grid *g, unsigned *labels)
{
	unsigned k = 0;

	for (size_t i = 0; i < g->ncells; i++) {
		const struct cluster_cell *c = &g->cells[i];

		for (size_t p = 0; p < c->n; p++)
			labels[g->rows[c->first + p]] = p < c->ncore;
	}
	for (size_t row = 0; row < g->n; row++) {
		struct cluster_cell *c;

		if (!labels[row])
			continue;
		c = &g->cells[representative(g, g->cell_of[row])];
		if (!c->label)
			c->label = ++k;
		labels[row] = c->label;
	}
	return k;
}

/* A point that is no core point gets the first cluster that has a core point near it. */
static void label_borders(struct cluster_grid *g, unsigned *labels)
{
	size_t cells[CLUSTER_MAX_NEIGHBOURS];

	for (size_t i = 0; i < g->ncells; i++) {
		const struct cluster_cell *c = &g->cells[i];
		size_t n = c->ncore < c->n ? cluster_grid__neighbours(g, c, cells) : 0;

		for (size_t p = c->first + c->ncore; p < c->first + c->n; p++) {
			unsigned *mine = &labels[g->rows[p]];

			for (size_t k = 0; k < n; k++) {
				unsigned l = g->cells[representative(g, cells[k])].label;

				if (l && (!*mine || l < *mine) &&
				    reaches(g, &g->cells[cells[k]], point(g, g->rows[p])))
					*mine = l;
			}
		}
	}
}

enum analysis_status cluster__dbscan(const double *v, size_t n, unsigned dims, double eps,
				     size_t min_pts, unsigned *labels, unsigned *k)
{
	struct cluster_grid g;
	enum analysis_status status = cluster_grid__build(&g, v, n, dims, eps);

	*k = 0;
	for (size_t i = 0; i < n; i++)
		labels[i] = 0;
	if (status == ANALYSIS_OK) {
		find_cores(&g, min_pts);
		status = make_trees(&g);
	}
	if (status == ANALYSIS_OK) {
		join_cells(&g);
		*k = number_clusters(&g, labels);
		label_borders(&g, labels);
	}
	cluster_grid__free(&g);
	return status;
}
