/* SPDX-License-Identifier: GPL-2.0-only */
/* Arithmetic: the cost of counting, and the counting that a budget affords. */
#ifndef JP_KERN_PMU_COST_H
#define JP_KERN_PMU_COST_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_SWITCHES_PER_S 5000.0 /* between slots, on a busy CPU: what exact mode must afford */
#define PMU_SAMPLES_MIN	   10.0	  /* per second and event: less says nothing */

/* Times of the same work, in ns: alone, interrupted by samples, and alone again. NaN: not known. */
struct pmu_round {
	double before, with, after;
	uint64_t samples;
};

/*
 * ns by which one sample delayed the work: the median of the rounds. NaN where the rounds cannot be
 * trusted: fewer than PMU_ROUNDS_MIN that are known and had samples, the middle half of them
 * further apart than half the median, or a time that no interrupt takes (outside PMU_SAMPLE_LEAST
 * to _MOST).
 */
double pmu_cost__sample(const struct pmu_round *rounds, unsigned n);
#define PMU_ROUNDS_MAX	 11
#define PMU_ROUNDS_MIN	 5
#define PMU_SAMPLE_LEAST 200
#define PMU_SAMPLE_MOST	 200000

/* The assumed cost of a sample where it cannot be measured, by the cost of reading n events. */
double pmu_cost__assumed(double read_ns, unsigned n);

/* A budget of so many percent of a CPU affords a reading at each of PMU_SWITCHES_PER_S. */
bool pmu_cost__affords_reads(double read_ns, double percent);
/* Samples per second of each of n events that the budget affords, within a quarter of what the
 * kernel allows all users, limit: from there on it lowers that limit. */
double pmu_cost__rate(double sample_ns, unsigned n, double percent, double limit);

#endif
