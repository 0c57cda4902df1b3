// SPDX-License-Identifier: GPL-2.0-or-later
/* Projects counters that were measured in some bursts of a cluster to all its bursts. */
#include "analysis/counters/counters.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FEW 5 /* fewer bursts than that are low confidence */

/* Sums over the bursts of a cluster that measured a counter. */
struct measured {
	double count, ins;
};

static void add_burst(const double *counts, double ins, size_t ncounters, struct measured *sums,
		      struct projection *p)
{
	for (size_t k = 0; k < ncounters; k++) {
		if (isnan(counts[k]) || isnan(ins))
			continue;
		sums[k].count += counts[k];
		sums[k].ins += ins;
		p[k].n_measured++;
	}
}

static void finish(const struct measured *sum, double cluster_ins, struct projection *p)
{
	p->mean = p->n_measured ? sum->count / (double)p->n_measured : NAN;
	p->per_ins = sum->ins > 0 ? sum->count / sum->ins : NAN;
	p->total = p->per_ins * cluster_ins;
	p->is_low_confidence = p->n_measured < FEW;
}

static bool are_in_range(const unsigned *cluster, size_t n, unsigned nclusters)
{
	for (size_t i = 0; i < n; i++) {
		if (cluster[i] > nclusters)
			return false;
	}
	return true;
}

enum analysis_status counters__project(const unsigned *cluster, const double *ins,
				       const double *counts, size_t n, size_t ncounters,
				       unsigned nclusters, struct projected_cluster *clusters,
				       struct projection *projections)
{
	size_t cells = ((size_t)nclusters + 1) * ncounters;
	_cleanup_free_ struct measured *sums = calloc(cells + 1, sizeof(*sums));

	for (size_t c = 0; c <= nclusters; c++)
		clusters[c] = (struct projected_cluster){0};
	for (size_t i = 0; i < cells; i++)
		projections[i] = (struct projection){0, NAN, NAN, NAN, true};
	if (!sums)
		return ANALYSIS_NO_MEMORY;
	if (!n)
		return ANALYSIS_INSUFFICIENT;
	if (!are_in_range(cluster, n, nclusters))
		return ANALYSIS_UNSUITABLE;
	for (size_t i = 0; i < n; i++) {
		size_t row = cluster[i] * ncounters;

		clusters[cluster[i]].n++;
		clusters[cluster[i]].ins += isnan(ins[i]) ? 0 : ins[i];
		add_burst(counts + i * ncounters, ins[i], ncounters, sums + row, projections + row);
	}
	for (size_t c = 0, i = 0; c <= nclusters; c++) {
		for (size_t k = 0; k < ncounters; k++, i++)
			finish(&sums[i], clusters[c].ins, &projections[i]);
	}
	return ANALYSIS_OK;
}
