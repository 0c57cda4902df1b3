// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: the distances to near points suggest an eps. */
#include "analysis/cluster/cluster.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/cluster/kdtree.h"
#include "analysis/order.h"
#include "base/cleanup.h"

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
