/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folding: samples of many instances of a region are projected into one synthetic instance, and a
 * curve through them shows the progress of a counter inside the region (H. Servat et al., "Detailed
 * performance analysis using coarse grain sampling", 2009, and the BSC tool "folding"). The steps
 * are: instances with unusual durations are left out, samples become points (x, y) in [0, 1]^2, a
 * smoothing spline is fitted, its slope is the counter's rate, and figures say how far the result
 * can be trusted. fold__region() does all of them.
 *
 * A value that is not known is NaN. A function that returns another status than ANALYSIS_OK has set
 * its results to NaN, to zero points or to an empty spline.
 */
#ifndef JP_ANALYSIS_FOLD_H
#define JP_ANALYSIS_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"

/* A sample inside an instance: the time, and the cumulative value of the counter then. */
struct fold_sample {
	double t, c;
	bool off; /* the thread did not run: c is NaN, and is found between its neighbours */
};

/* One execution of the region by one thread. t is in any unit of time, the same everywhere; c is
 * the cumulative counter. The samples need no order. */
struct fold_instance {
	double t0, t1, c0, c1;
	const struct fold_sample *samples;
	size_t nsamples;
	double before, unusual; /* see profile_find() of fold_traces.c */
};

enum fold_method {
	FOLD_MEDIAN, /* center: upper median; width: the median distance to it, without a factor */
	FOLD_MEAN,   /* center: mean; width: standard deviation of the sample */
};

struct fold_filter {
	enum fold_method method;
	double k;     /* how many widths from the center a duration may be */
	double floor; /* FOLD_MEDIAN: at least this part of the center is allowed on both sides */
};

/* The values of the script folding.sh, with a floor against a width of 0. */
#define FOLD_FILTER_MEDIAN ((struct fold_filter){FOLD_MEDIAN, 1.5, 0.01})
#define FOLD_FILTER_MEAN   ((struct fold_filter){FOLD_MEAN, 2, 0})

/* Durations in [lo, hi] are kept; all in the unit of the durations. */
struct fold_range {
	double center, width, lo, hi;
	size_t kept;
};

/*
 * Sets keep[i] where dur[i] lies in the range that the filter computes from all n. NaN is not kept
 * and does not count. ANALYSIS_INSUFFICIENT: no duration, or one duration and FOLD_MEAN.
 */
enum analysis_status fold__outliers(const double *dur, size_t n, const struct fold_filter *f,
				    struct fold_range *r, bool *keep);

/*
 * Groups of similar durations, in whole nanoseconds: group[i] is 0 for the shortest ones. Sorted
 * durations start a new group where the step from one to the next is longer than
 * (max - min) / min(n / 4, 100), in whole numbers. Fewer than 8 durations are one group. No
 * duration may be NaN (ANALYSIS_UNSUITABLE).
 */
enum analysis_status fold__groups(const double *dur, size_t n, size_t *group, size_t *ngroups);

/* Points of a folded region: y is the part of the instance's count that was reached after the part
 * x of its duration. */
struct fold_points {
	double *x, *y;
	size_t *instance; /* the index of the instance that the point is of */
	size_t n;
};

/*
 * x = (t - t0) / (t1 - t0), y = (c - c0) / (c1 - c0) of all samples with t0 < t < t1 of instances
 * whose duration and count are positive and for which keep[] is set (NULL: all). The points are
 * ordered by instance, then by time. ANALYSIS_INSUFFICIENT: there is none.
 */
enum analysis_status fold__points(const struct fold_instance *instances, size_t n, const bool *keep,
				  struct fold_points *p);
void fold_points__free(struct fold_points *p);

/*
 * take[i] for at most cap of the n values x in [0, 1]: for each of the centers (j + 0.5) / cap of a
 * grid, in this order, the nearest x that is not taken yet. All are taken where n <= cap.
 */
enum analysis_status fold__thin(const double *x, size_t n, size_t cap, bool *take);

/*
 * The second pass of the filter: a curve is fitted to at most 1000 of the points, and instances
 * whose points have a mean distance to it (Euclid, in the plane of x and y) outside of the mean
 * over the instances +- k standard deviations lose their keep[]. keep has ninstances elements.
 * ANALYSIS_INSUFFICIENT, with keep unchanged: fewer than two instances have points.
 */
enum analysis_status fold__prefilter(const struct fold_points *p, double nugget, double k,
				     bool *keep, size_t ninstances);

/* A natural cubic smoothing spline: at the knots x[] it has the values f[] and the second
 * derivatives g[]. */
struct fold_spline {
	double *x, *f, *g;
	size_t nknots;
};

#define FOLD_NUGGET 1e-4 /* the default of the BSC tool */

/*
 * Minimises sum (y_i - f(x_i))^2 + nugget / 12 * integral f''^2, which is universal Kriging with
 * the covariance h^3, a linear drift and the nugget on the diagonal. Algorithm of Reinsch,
 * "Smoothing by spline functions", 1967: O(n) after sorting. Values of x closer than 1e-9 are one
 * knot with the mean of y. Pairs with a NaN are left out. ANALYSIS_INSUFFICIENT: fewer than two
 * knots. ANALYSIS_UNSUITABLE: the nugget is negative or NaN.
 */
enum analysis_status fold_spline__fit(const double *x, const double *y, size_t n, double nugget,
				      struct fold_spline *s);
/* Linear outside of the knots; NaN for an empty spline. */
double fold_spline__at(const struct fold_spline *s, double x);
void fold_spline__free(struct fold_spline *s);

/*
 * The spline of a region: (0, 0) and (1, 1) are added as ordinary points. When every y is 0, it is
 * the line y = 0. ANALYSIS_INSUFFICIENT: no point has 0 < x < 1.
 */
enum analysis_status fold__fit(const double *x, const double *y, size_t n, double nugget,
			       struct fold_spline *s);

/* curve[j] = max(f(j / (m - 1)), 0), j = 0..m-1, of fold__fit(); m >= 2. */
enum analysis_status fold__krige(const double *x, const double *y, size_t n, double nugget,
				 double *curve, size_t m);
void fold_spline__curve(const struct fold_spline *s, double *curve, size_t m);

/*
 * Events per unit of time along a curve of m >= 2 values; factor is the mean rate of the region,
 * sum of counts / sum of durations. What the curve gains over its maximum so far counts, so that
 * sum(rate[1..]) / (m - 1) = factor * (max(curve) - curve[0]); rate[0] = rate[1].
 */
enum analysis_status fold__rate(const double *curve, size_t m, double factor, double *rate);

struct fold_validity {
	size_t n_samples;
	double kept_fraction; /* of the instances */
	double max_gap;	      /* largest distance of neighbours in {0, x..., 1} */
	double rms, mean_abs; /* of the residuals y - f(x) */
	double r2;	      /* 1 - sum of their squares / sum of squares of y - mean(y) */
	double ks_d;	      /* Kolmogorov's distance of x to the uniform distribution */
	double ks_limit;      /* 1.358 / sqrt(n): with 5 % probability a larger one is chance */
	bool uniform;	      /* ks_d <= ks_limit; else sampling may be locked to the region */
	bool good;	/* >= 10 instances kept, >= 30 samples, uniform, max_gap and rms <= 0.05 */
	double scatter; /* see fold_validity__scatter(); NaN: not known */
	double misplaced; /* see fold_validity__misplaced(); NaN: not looked at */
	double blurred;	  /* see fold_validity__blurred(); NaN: not looked at */
	double unlike;	  /* see fold_validity__unlike(); NaN: not looked at */
};

#define FOLD_SCATTER_MAX 0.02

/*
 * Sets scatter: the median difference between the CPU time from one sample to the next and the time
 * expected by all executions, as a part of the mean. A thread that others interrupt at any time was
 * somewhere else in each execution, and the samples cannot tell where it counted: above
 * FOLD_SCATTER_MAX the result is not good.
 */
void fold_validity__scatter(struct fold_validity *v, double scatter);

#define FOLD_MISPLACED_MAX 0.025

/*
 * Sets misplaced: the largest difference between the length of a function's phases and the
 * function's share of the samples, as a part of the region. Iterations that were followed only
 * roughly blur one phase into the next, or lose a short one: above FOLD_MISPLACED_MAX the result is
 * not good.
 */
void fold_validity__misplaced(struct fold_validity *v, double misplaced);

#define FOLD_BLURRED_MAX 0.05

/*
 * Sets blurred: the largest difference between the rate of a phase and the rate in its middle,
 * where certainly no other phase is, as a part of the larger of the latter and the region's rate.
 * Iterations that were followed only roughly carry counts over the ends of phases: above
 * FOLD_BLURRED_MAX the result is not good.
 */
void fold_validity__blurred(struct fold_validity *v, double blurred);

#define FOLD_UNLIKE_MAX 0.05

/*
 * How much more often, chance taken off, two successive samples of one execution are in the same
 * code than a sample and the nearest one of the next execution. Where every second execution does
 * something else, two or more executions are one iteration. x[n], code[n] and execution[n] are of
 * samples in time order. NaN: there are too few.
 */
double fold__unlike(const double *x, const uint64_t *code, const size_t *execution, size_t n);
/* Above FOLD_UNLIKE_MAX the result is not good. */
void fold_validity__unlike(struct fold_validity *v, double unlike);

/* How well the points cover the region and the spline fits them. n_kept of n_instances were used.
 * ANALYSIS_INSUFFICIENT: no point is known. */
enum analysis_status fold__validity(const double *x, const double *y, size_t n,
				    const struct fold_spline *s, size_t n_instances, size_t n_kept,
				    struct fold_validity *v);

/*
 * Whether sampling is locked to the region, so that it sees the same parts again and again:
 * Kolmogorov's distance of the samples from uniform is 0.25 or more, which chance gives at most
 * once in 2,000 times. The samples' progress by cpu, the spline of the CPU time, must be as far
 * from uniform, because a clock that samples what runs takes no sample where nothing runs. Fewer
 * than 30 samples tell nothing.
 */
bool fold__is_locked(const struct fold_points *p, const struct fold_spline *cpu);

struct fold_options {
	struct fold_filter filter;
	double nugget;
	double far; /* k of fold__prefilter(); 0: without this pass */
};

/* A folded region. curve and rate have the m elements that the caller asked for. */
struct fold_result {
	struct fold_range range;
	bool *keep; /* one per instance */
	struct fold_points points;
	struct fold_spline spline;
	double factor; /* sum of counts / sum of durations of the kept instances that count */
	double *curve, *rate;
	struct fold_validity validity;
};

/*
 * All steps, from n instances to a curve and a rate of m >= 2 values. The result is released with
 * fold_result__free(), also after a failure. ANALYSIS_INSUFFICIENT: no instance is kept, or none
 * has a sample inside.
 */
enum analysis_status fold__region(const struct fold_instance *instances, size_t n,
				  const struct fold_options *o, size_t m, struct fold_result *r);
/*
 * The last steps, for points that were made elsewhere: sets all of r but its points, range, factor
 * and keep. There were n instances, of which range.kept were used. Returns as fold__region().
 */
enum analysis_status fold__curve(struct fold_result *r, size_t n, double nugget, size_t m);
void fold_result__free(struct fold_result *r);

#endif
