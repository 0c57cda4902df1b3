// SPDX-License-Identifier: GPL-2.0-or-later
/* The model of clusters of bursts: its scale, its clusters, and the clusters that it gives to other
 * bursts. */
#include "analysis/cluster/burst_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const struct burst_feature_info burst_features[BURST_FEATURES] = {
	[FEATURE_RUN] = {"run", "run time", true},
	[FEATURE_GAP] = {"gap", "time blocked before", true},
	[FEATURE_DURATION] = {"duration", "time from begin to end", true},
	[FEATURE_SHARE] = {"share", "part of that time on a CPU", false},
};

#define NO_GAP_PLACE (-0.2) /* of BURST_NO_GAP on the scale */

/* Times that are all within a factor of 10 are no further apart than they would be in a wider
 * range: else the noise of times that are all the same would be their features. */
#define LEAST_DECADES 1.0

void burst_model__free(struct burst_model *m)
{
	free(m->points);
	free(m->labels);
	*m = (struct burst_model){0};
}

void burst_model__know_gaps(const struct burst_model *m, double *v, size_t n)
{
	for (size_t i = 0; i < n * m->dims; i++)
		if (m->by[i % m->dims] == FEATURE_GAP)
			v[i] = v[i] > BURST_NO_GAP ? v[i] : BURST_NO_GAP;
}

static void features_of(const struct burst_model *m, struct cluster_feature f[CLUSTER_MAX_DIMS])
{
	for (unsigned d = 0; d < m->dims; d++)
		f[d] = burst_features[m->by[d]].log ? CLUSTER_LOG : CLUSTER_LINEAR;
}

size_t burst_model__filter(const struct burst_model *m, const double *v, size_t n, bool *used)
{
	struct cluster_feature f[CLUSTER_MAX_DIMS];

	features_of(m, f);
	return cluster__filter(v, n, m->dims, f, NULL, 0, used);
}

/* cluster__range() of the gaps that there are. */
static void range_gaps(struct burst_model *m, unsigned d, const double *v, size_t n)
{
	double lo = NAN, hi = NAN;

	for (size_t i = 0; i < n; i++) {
		double gap = v[i * m->dims + d];

		if (!(gap > BURST_NO_GAP))
			continue;
		lo = fmin(lo, log10(gap));
		hi = fmax(hi, log10(gap));
	}
	m->lo[d] = isnan(lo) ? 0 : lo;
	m->hi[d] = isnan(hi) ? 0 : hi;
}

static void keep_decades(struct burst_model *m, unsigned d)
{
	if (burst_features[m->by[d]].log && m->hi[d] - m->lo[d] < LEAST_DECADES)
		m->hi[d] = m->lo[d] + LEAST_DECADES;
}

/* What has a scale of its own keeps it. */
enum analysis_status burst_model__range(struct burst_model *m, const double *v, size_t n)
{
	struct cluster_feature f[CLUSTER_MAX_DIMS];
	enum analysis_status s;

	features_of(m, f);
	s = cluster__range(v, n, m->dims, f, m->lo, m->hi);
	for (unsigned d = 0; d < m->dims; d++) {
		if (m->by[d] == FEATURE_GAP)
			range_gaps(m, d, v, n);
		if (!f[d].log) {
			m->lo[d] = 0;
			m->hi[d] = 1;
		}
		keep_decades(m, d);
	}
	return s;
}

void burst_model__widen(struct burst_model *m, unsigned d, double least, double most)
{
	if (!burst_features[m->by[d]].log)
		return;
	m->lo[d] = least > 0 ? fmin(m->lo[d], log10(least)) : m->lo[d];
	m->hi[d] = most > 0 ? fmax(m->hi[d], log10(most)) : m->hi[d];
	keep_decades(m, d);
}

static void place_gaps(const struct burst_model *m, unsigned d, size_t n, double *out)
{
	double none = (log10(BURST_NO_GAP) - m->lo[d]) / (m->hi[d] - m->lo[d]);

	for (size_t i = 0; i < n; i++)
		if (out[i * m->dims + d] <= none)
			out[i * m->dims + d] = NO_GAP_PLACE;
}

void burst_model__scale(const struct burst_model *m, const double *v, size_t n, double *out)
{
	struct cluster_feature f[CLUSTER_MAX_DIMS];

	features_of(m, f);
	cluster__normalise(v, n, m->dims, f, m->lo, m->hi, out);
	for (unsigned d = 0; d < m->dims; d++)
		if (m->by[d] == FEATURE_GAP)
			place_gaps(m, d, n, out);
}

static enum analysis_status measure_eps(struct burst_model *m)
{
	_cleanup_free_ double *kdist = calloc(m->n + 1, sizeof(*kdist));
	struct cluster_kdist r;
	enum analysis_status s;

	if (!kdist)
		return ANALYSIS_NO_MEMORY;
	s = cluster__kdist(m->points, m->n, m->dims, m->min_pts, kdist, &r);
	m->eps = r.eps;
	return s;
}

enum analysis_status burst_model__find(struct burst_model *m)
{
	enum analysis_status s = m->eps > 0 ? ANALYSIS_OK : measure_eps(m);

	m->labels = calloc(m->n + 1, sizeof(*m->labels));
	if (!m->labels)
		return ANALYSIS_NO_MEMORY;
	return s != ANALYSIS_OK ? s
				: cluster__dbscan(m->points, m->n, m->dims, m->eps, m->min_pts,
						  m->labels, &m->k);
}

enum analysis_status burst_model__classify(const struct burst_model *m, const double *v, size_t n,
					   unsigned *labels)
{
	_cleanup_free_ bool *used = malloc(n + 1);
	_cleanup_free_ double *points = malloc((n + 1) * m->dims * sizeof(*points));
	_cleanup_free_ unsigned *found = malloc((n + 1) * sizeof(*found));
	enum analysis_status s;
	size_t kept = 0;

	if (!used || !points || !found)
		return ANALYSIS_NO_MEMORY;
	memcpy(points, v, n * m->dims * sizeof(*points));
	burst_model__know_gaps(m, points, n);
	burst_model__filter(m, points, n, used);
	for (size_t i = 0; i < n; i++)
		if (used[i])
			burst_model__scale(m, points + m->dims * i, 1, points + m->dims * kept++);
	s = cluster__classify(m->points, m->labels, m->n, points, kept, m->dims, m->eps, found);
	kept = 0;
	for (size_t i = 0; s == ANALYSIS_OK && i < n; i++)
		labels[i] = used[i] ? found[kept++] : CLUSTER_UNUSED;
	return s;
}
