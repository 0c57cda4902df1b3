/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns counters that wrap and begin again into totals at equal distances in time. */
#include "analysis/resample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define WRAP_32 4294967296.0

static double increase(double before, double after, unsigned width)
{
	if (after >= before)
		return after - before;
	if (width == 32 && before - after > WRAP_32 / 2)
		return after - before + WRAP_32;
	return after; /* it began again: what it was at last is lost */
}

int resample__open(struct resample *r, const double *t, const double *v, size_t samples,
		   unsigned width)
{
	double last = NAN;

	*r = (struct resample){
		.t = malloc((samples + 1) * sizeof(*r->t)),
		.total = malloc((samples + 1) * sizeof(*r->total)),
	};
	if (!r->t || !r->total)
		return -ENOMEM;
	for (size_t i = 0; i < samples; i++) {
		if (isnan(t[i]) || isnan(v[i]) || (r->n && t[i] <= r->t[r->n - 1]))
			continue;
		r->t[r->n] = t[i];
		r->total[r->n] = r->n ? r->total[r->n - 1] + increase(last, v[i], width) : 0;
		r->n++;
		last = v[i];
	}
	return 0;
}

void resample__close(struct resample *r)
{
	free(r->t);
	free(r->total);
	*r = (struct resample){0};
}

/* next is the first sample later than tau; n: there is none. */
static double total_at(const struct resample *r, size_t next, double tau)
{
	const double *t = r->t + next, *total = r->total + next;

	if (next == 0)
		return total[0];
	if (next == r->n)
		return total[-1];
	return total[-1] + (total[0] - total[-1]) * ((tau - t[-1]) / (t[0] - t[-1]));
}

void resample__grid(const struct resample *r, double tau0, double dt, double *grid, size_t points)
{
	size_t next = 0;

	for (size_t k = 0; k < points; k++) {
		double tau = tau0 + k * dt;

		while (next < r->n && r->t[next] <= tau)
			next++;
		grid[k] = r->n ? total_at(r, next, tau) : NAN;
	}
}

double resample__coverage(const struct resample *r, double tau0, double dt, size_t n)
{
	size_t next = 0, covered = 0;

	for (size_t k = 0; k < n; k++) {
		while (next < r->n && r->t[next] < tau0 + (k - 1.0) * dt)
			next++;
		covered += next < r->n && r->t[next] <= tau0 + (k + 2.0) * dt;
	}
	return n ? (double)covered / n : NAN;
}
