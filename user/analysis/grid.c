/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns samples into bins of equal length. */
#include "analysis/grid.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/resample.h"

unsigned grid__bins(double t0, double t1, double dt)
{
	double n = dt > 0 ? floor((t1 - t0) / dt + 1e-9) : 0;

	return n >= 1 && n <= INT_MAX ? (unsigned)n : 0;
}

void grid__gauge(const double *t, const double *v, size_t samples, double t0, double dt,
		 double *bins, unsigned n)
{
	unsigned *known = calloc((size_t)n + 1, sizeof(*known));

	for (unsigned b = 0; b < n; b++)
		bins[b] = 0;
	for (size_t i = 0; known && i < samples; i++) {
		double k = floor((t[i] - t0) / dt);

		if (isnan(v[i]) || !(k >= 0 && k < n))
			continue;
		bins[(unsigned)k] += v[i];
		known[(unsigned)k]++;
	}
	for (unsigned b = 0; b < n; b++)
		bins[b] = known && known[b] ? bins[b] / known[b] : NAN;
	free(known);
}

int grid__counter(const double *t, const double *v, size_t samples, unsigned width, double t0,
		  double dt, double *bins, unsigned n)
{
	struct resample r;
	double *at;
	int err = resample__open(&r, t, v, samples, width);

	if (err)
		return err;
	at = malloc(((size_t)n + 1) * sizeof(*at));
	if (at) {
		resample__grid(&r, t0, dt, at, (size_t)n + 1);
		for (unsigned b = 0; b < n; b++)
			bins[b] = (at[b + 1] - at[b]) / dt;
	}
	free(at);
	resample__close(&r);
	return at ? 0 : -ENOMEM;
}
