// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: points are sorted into the cells of a grid. */
#include "analysis/cluster/cluster_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

enum analysis_status cluster_grid__build(struct cluster_grid *g, const double *v, size_t n,
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

void cluster_grid__free(struct cluster_grid *g)
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

size_t cluster_grid__neighbours(const struct cluster_grid *g, const struct cluster_cell *c,
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
