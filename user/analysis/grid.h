/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bins of the analyses: [t0 + k dt, t0 + (k + 1) dt) of a job's time, the same ones on all
 * nodes. Only whole bins count; what is left behind the last is dropped. Bins without a sample are
 * NaN.
 */
#ifndef JP_ANALYSIS_GRID_H
#define JP_ANALYSIS_GRID_H

#include <stddef.h>

#define GRID_DT_S 30.0 /* what the thresholds of pika/pika.h are made for */

/* How many bins; 0: none is whole, or times that make no sense. Times in s, on one clock. */
unsigned grid__bins(double t0, double t1, double dt);

/* A gauge: v[i] at t[i], samples in any order; each of bins[n] is the mean of what is known. */
void grid__gauge(const double *t, const double *v, size_t samples, double t0, double dt,
		 double *bins, unsigned n);

/* A counter: v[i] at t[i], of width 32 or 64 bits. bins[n] are its rate, per unit of time, as
 * resample__grid() of resample.h reads it: the counter stands still before the first and after the
 * last sample. All are NaN without samples. 0 or -ENOMEM. */
int grid__counter(const double *t, const double *v, size_t samples, unsigned width, double t0,
		  double dt, double *bins, unsigned n);

#endif
