// SPDX-License-Identifier: GPL-2.0-only
/* Arithmetic on what reading and sampling cost, and on what a budget affords. */
#include "kern/pmu/pmu_cost.h"

#include <math.h>
#include <stdlib.h>

#define TRAPPED_NS	  500 /* an access that takes longer goes to a hypervisor */
#define SAMPLE_NS	  2000
#define SAMPLE_TRAPPED_NS 15000 /* end to end, measured in a virtual machine */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double pmu_cost__sample(const struct pmu_round *rounds, unsigned n)
{
	double ns[PMU_ROUNDS_MAX], median;
	unsigned i, known = 0;

	for (i = 0; i < n && known < PMU_ROUNDS_MAX; i++) {
		const struct pmu_round *r = &rounds[i];
		double without = (r->before + r->after) / 2;

		if (r->samples && !isnan(without) && !isnan(r->with))
			ns[known++] = (r->with - without) / r->samples;
	}
	if (known < PMU_ROUNDS_MIN)
		return NAN;
	qsort(ns, known, sizeof(*ns), by_size);
	median = (ns[(known - 1) / 2] + ns[known / 2]) / 2;
	if (ns[known - 1 - known / 4] - ns[known / 4] > median / 2)
		return NAN;
	return median >= PMU_SAMPLE_LEAST && median <= PMU_SAMPLE_MOST ? median : NAN;
}

double pmu_cost__assumed(double read_ns, unsigned n)
{
	double ns = fmax(SAMPLE_NS, 3.0 * read_ns);

	/* one event alone is cheap to read there, its interrupt is not */
	return read_ns > n * TRAPPED_NS ? fmax(ns, SAMPLE_TRAPPED_NS) : ns;
}

bool pmu_cost__affords_reads(double read_ns, double percent)
{
	return read_ns * PMU_SWITCHES_PER_S <= percent / 100 * 1e9;
}

double pmu_cost__rate(double sample_ns, unsigned n, double percent, double limit)
{
	return fmin(percent / 100 * 1e9 / sample_ns, limit / 4) / n;
}
