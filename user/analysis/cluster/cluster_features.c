// SPDX-License-Identifier: GPL-2.0-only
/* Clusters: the features of bursts are filtered and brought to one scale. */
#include "analysis/cluster/cluster.h"

#include <math.h>

static double scaled(double v, const struct cluster_feature *f)
{
	return f->log ? log10(v) : v;
}

static bool is_usable(double v, const struct cluster_feature *f)
{
	return isfinite(v) && v >= f->min && v <= f->max && (!f->log || v > 0);
}

size_t cluster__filter(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
		       const double *dur, double min_dur, bool *used)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		used[i] = !dur || dur[i] >= min_dur;
		for (unsigned d = 0; d < dims; d++)
			used[i] = used[i] && is_usable(v[i * dims + d], &f[d]);
		all += used[i];
	}
	return all;
}

enum analysis_status cluster__range(const double *v, size_t n, unsigned dims,
				    const struct cluster_feature *f, double *lo, double *hi)
{
	enum analysis_status status = n ? ANALYSIS_OK : ANALYSIS_INSUFFICIENT;

	for (unsigned d = 0; d < dims; d++) {
		lo[d] = hi[d] = NAN;
		for (size_t i = 0; i < n; i++) {
			double s = scaled(v[i * dims + d], &f[d]);

			lo[d] = fmin(lo[d], s);
			hi[d] = fmax(hi[d], s);
			if (!isfinite(s))
				status = ANALYSIS_UNSUITABLE;
		}
	}
	return status;
}

void cluster__normalise(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
			const double *lo, const double *hi, double *out)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned d = 0; d < dims; d++) {
			double s = scaled(v[i * dims + d], &f[d]);

			out[i * dims + d] =
				hi[d] > lo[d] ? (s - lo[d]) / (hi[d] - lo[d]) * f[d].weight : 0;
		}
	}
}
