/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clusters: DBSCAN over the cells of a grid. A cell with min_pts points or more has core points
 * only, and all core points of a cell are in one cluster, so clusters are joined cell by cell
 * (A. Gunawan, "A faster algorithm for DBSCAN", 2013).
 */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cluster/kdtree.h"
#include "analysis/order.h"
#include "base/cleanup.h"

/* ---- the distances to near points suggest an eps */

#define EPS_MIN 0.005
#define EPS_MAX 0.05

/* Where v, of n descending values, lies farthest below the straight line between its ends; both
 * axes are scaled to [0, 1]. */
static size_t find_knee(const double *v, size_t n)
{
	double farthest = -INFINITY, last = v[n - 1] / v[0];
	size_t knee = 0;

	for (size_t i = 0; i < n; i++) {
		double u = n > 1 ? (double)i / (double)(n - 1) : 0;
		double below = 1 + (last - 1) * u - v[i] / v[0];

		if (below > farthest) {
			farthest = below;
			knee = i;
		}
	}
	return knee;
}

static void reverse(double *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		double was = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = was;
	}
}

static bool are_finite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			return false;
	}
	return true;
}

static enum analysis_status measure_distances(const double *v, size_t n, unsigned dims, size_t k,
					      double *kdist)
{
	_cleanup_free_ double *room = NULL;
	struct kdtree t;
	enum analysis_status status = kdtree__build(&t, v, dims, NULL, n);

	if (status != ANALYSIS_OK)
		return status;
	room = calloc(k, sizeof(*room));
	for (size_t i = 0; room && i < n; i++)
		kdist[i] = sqrt(kdtree__kth(&t, v + i * dims, k, room));
	kdtree__free(&t);
	return room ? ANALYSIS_OK : ANALYSIS_NO_MEMORY;
}

enum analysis_status cluster__kdist(const double *v, size_t n, unsigned dims, size_t min_pts,
				    double *kdist, struct cluster_kdist *r)
{
	enum analysis_status status;

	*r = (struct cluster_kdist){0, CLUSTER_EPS};
	for (size_t i = 0; i < n; i++)
		kdist[i] = NAN;
	if (!min_pts || n < min_pts)
		return ANALYSIS_INSUFFICIENT;
	if (!are_finite(v, n * dims))
		return ANALYSIS_UNSUITABLE;
	status = measure_distances(v, n, dims, min_pts, kdist);
	if (status != ANALYSIS_OK)
		return status;
	qsort(kdist, n, sizeof(*kdist), order__doubles);
	reverse(kdist, n);
	if (kdist[0] > 0) {
		r->knee = find_knee(kdist, n);
		r->eps = fmin(fmax(kdist[r->knee], EPS_MIN), EPS_MAX);
	}
	return ANALYSIS_OK;
}

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

/* ---- points are sorted into the cells of a grid */

#define FINEST 1e-9 /* of the extent: the smallest eps, so that coordinates of cells fit */

/* A point while it is sorted. */
struct placed {
	int32_t at[CLUSTER_MAX_DIMS];
	size_t row;
};

static int compare_cells(const int32_t *a, const int32_t *b)
{
	for (unsigned d = 0; d < CLUSTER_MAX_DIMS; d++) {
		if (a[d] != b[d])
			return a[d] < b[d] ? -1 : 1;
	}
	return 0;
}

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = compare_cells(x->at, y->at);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* The largest extent of the points in one dimension; NaN: a value is not finite. */
static double find_extent(const double *v, size_t n, unsigned dims, double *lo)
{
	double extent = 0;

	for (unsigned d = 0; d < dims; d++) {
		double hi = -INFINITY;

		lo[d] = INFINITY;
		for (size_t i = 0; i < n; i++) {
			if (!isfinite(v[i * dims + d]))
				return NAN;
			lo[d] = fmin(lo[d], v[i * dims + d]);
			hi = fmax(hi, v[i * dims + d]);
		}
		extent = fmax(extent, hi - lo[d]);
	}
	return extent;
}

static void sort_into_cells(const struct cluster_grid *g, const double *lo, double side,
			    struct placed *placed)
{
	for (size_t i = 0; i < g->n; i++) {
		placed[i].row = i;
		for (unsigned d = 0; d < g->dims; d++)
			placed[i].at[d] = (int32_t)floor((g->v[i * g->dims + d] - lo[d]) / side);
	}
	qsort(placed, g->n, sizeof(*placed), compare_placed);
}

static void take_cells(struct cluster_grid *g, const struct placed *placed)
{
	struct cluster_cell *c = NULL;

	for (size_t i = 0; i < g->n; i++) {
		if (!c || compare_cells(c->at, placed[i].at)) {
			c = &g->cells[g->ncells];
			memcpy(c->at, placed[i].at, sizeof(c->at));
			c->first = i;
			c->parent = g->ncells++;
		}
		c->n++;
		g->rows[i] = placed[i].row;
		g->cell_of[placed[i].row] = g->ncells - 1;
	}
}

/* ANALYSIS_UNSUITABLE: see cluster__dbscan(). */
static enum analysis_status grid_build(struct cluster_grid *g, const double *v, size_t n,
				       unsigned dims, double eps)
{
	_cleanup_free_ struct placed *placed = NULL;
	double lo[CLUSTER_MAX_DIMS] = {0}, extent;

	*g = (struct cluster_grid){.v = v, .n = n, .dims = dims, .squared_eps = squared_limit(eps)};
	if (!dims || dims > CLUSTER_MAX_DIMS)
		return ANALYSIS_UNSUITABLE;
	extent = find_extent(v, n, dims, lo);
	if (!(eps > FINEST * extent) || !(eps > 0))
		return ANALYSIS_UNSUITABLE;
	placed = calloc(n + 1, sizeof(*placed));
	g->rows = calloc(n + 1, sizeof(*g->rows));
	g->cell_of = calloc(n + 1, sizeof(*g->cell_of));
	g->cells = calloc(n + 1, sizeof(*g->cells));
	if (!placed || !g->rows || !g->cell_of || !g->cells)
		return ANALYSIS_NO_MEMORY;
	/* The margin is wider than rounding errors of coordinates and distances. */
	sort_into_cells(g, lo, eps / sqrt(dims) * (1 - 1e-6), placed);
	take_cells(g, placed);
	return ANALYSIS_OK;
}

static void grid_free(struct cluster_grid *g)
{
	for (size_t i = 0; i < g->ncells; i++)
		kdtree__free(&g->cells[i].tree);
	free(g->rows);
	free(g->cell_of);
	free(g->cells);
	*g = (struct cluster_grid){0};
}

/* The first cell that does not come before at. */
static size_t find_cell(const struct cluster_grid *g, const int32_t *at)
{
	size_t lo = 0, hi = g->ncells;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (compare_cells(g->cells[middle].at, at) < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Cells of a line along the last dimension follow each other. */
static size_t add_line(const struct cluster_grid *g, const int32_t *from, size_t *cells)
{
	unsigned last = g->dims - 1;
	int32_t end[CLUSTER_MAX_DIMS];
	size_t n = 0;

	memcpy(end, from, sizeof(end));
	end[last] += 2 * CLUSTER_REACH;
	for (size_t i = find_cell(g, from); i < g->ncells; i++) {
		if (compare_cells(g->cells[i].at, end) > 0)
			break;
		cells[n++] = i;
	}
	return n;
}

/* The cells that may have neighbours of the points of a cell, which is one of them; returns how
 * many. */
static size_t grid_neighbours(const struct cluster_grid *g, const struct cluster_cell *c,
			      size_t cells[CLUSTER_MAX_NEIGHBOURS])
{
	unsigned lines = 1, width = 2 * CLUSTER_REACH + 1;
	size_t n = 0;

	for (unsigned d = 1; d < g->dims; d++)
		lines *= width;
	for (unsigned line = 0; line < lines; line++) {
		int32_t from[CLUSTER_MAX_DIMS] = {0};

		for (unsigned d = 0, rest = line; d < g->dims; d++, rest /= width)
			from[d] = c->at[d] - CLUSTER_REACH + (int32_t)(rest % width);
		from[g->dims - 1] = c->at[g->dims - 1] - CLUSTER_REACH;
		n += add_line(g, from, cells + n);
	}
	return n;
}

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
		n = grid_neighbours(g, c, cells);
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
		size_t n = g->cells[i].ncore ? grid_neighbours(g, &g->cells[i], cells) : 0;

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
		size_t n = c->ncore < c->n ? grid_neighbours(g, c, cells) : 0;

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
	enum analysis_status status = grid_build(&g, v, n, dims, eps);

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
	grid_free(&g);
	return status;
}
