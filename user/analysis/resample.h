/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes totals at equal distances in time from counters that wrap or begin again. The amount
 * between two totals is conserved whatever the times of samples were (El Sayed et al., PDSW-DISCS
 * 2016).
 */
#ifndef JP_ANALYSIS_RESAMPLE_H
#define JP_ANALYSIS_RESAMPLE_H

#include <stddef.h>

/* A counter that began at 0 with the first sample and never falls: t[n], total[n]. Samples are left
 * out that are not known or not later than the one before. */
struct resample {
	double *t, *total;
	size_t n;
};

/* v[i] at t[i]. A value below the one before is a wrap for width 32 when it fell by more than 2^31,
 * else the counter began again at 0. 0 or -ENOMEM; resample__close() in both cases. */
int resample__open(struct resample *r, const double *t, const double *v, size_t samples,
		   unsigned width);
void resample__close(struct resample *r);
/* The total at tau0 + k dt for k < points: linear between samples, constant before the first and
 * after the last; NaN without samples. */
void resample__grid(const struct resample *r, double tau0, double dt, double *grid, size_t points);

#define RESAMPLE_LOW_COVERAGE 0.9 /* below it, the result is degraded */

/* The fraction of n intervals from tau0 on that have a sample inside or within dt; others are
 * inside gaps of more than 3 dt. NaN: there are no intervals. */
double resample__coverage(const struct resample *r, double tau0, double dt, size_t n);

#endif
