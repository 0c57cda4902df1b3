/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clusters of bursts that behave alike: features are normalised, DBSCAN finds dense regions, a
 * subset can stand for all bursts, a table describes the clusters, and clusterings of successive
 * windows of time are compared.
 *
 * Points are n rows of dims values, row after row, dims in 1..CLUSTER_MAX_DIMS. Labels are 0 for
 * noise and 1..k for clusters. Functions of points need known values: a NaN is ANALYSIS_UNSUITABLE
 * where nothing else is said.
 */
#ifndef JP_ANALYSIS_CLUSTER_H
#define JP_ANALYSIS_CLUSTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/status.h"

#define CLUSTER_MAX_DIMS 3

#define CLUSTER_EPS	    0.01 /* BSC's example */
#define CLUSTER_MIN_PTS	    10
#define CLUSTER_FEW	    200 /* with fewer points, min_pts is CLUSTER_FEW_MIN_PTS */
#define CLUSTER_FEW_MIN_PTS 4

/* How one dimension of the raw features is normalised. */
struct cluster_feature {
	bool log;	 /* its logarithm to base 10 is taken; values <= 0 are discarded */
	double weight;	 /* the normalised range is [0, weight] */
	double min, max; /* raw values outside are discarded; -INFINITY, INFINITY: none is */
};

#define CLUSTER_LINEAR ((struct cluster_feature){false, 1, -INFINITY, INFINITY})
#define CLUSTER_LOG    ((struct cluster_feature){true, 1, -INFINITY, INFINITY})

/* used[i]: burst i lasted at least min_dur and no feature of it is discarded or NaN. dur NULL: all
 * last long enough. Returns how many are used. */
size_t cluster__filter(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
		       const double *dur, double min_dur, bool *used);

/* lo[d], hi[d]: the extremes over the points, after the logarithm. Those of several sets of points
 * are merged by the minimum of lo and the maximum of hi. ANALYSIS_INSUFFICIENT, NaN: no point.
 * ANALYSIS_UNSUITABLE: a value has no logarithm or is NaN. */
enum analysis_status cluster__range(const double *v, size_t n, unsigned dims,
				    const struct cluster_feature *f, double *lo, double *hi);

/* out = (v - lo) / (hi - lo) * weight, after the logarithm; 0 where hi = lo. Points outside of lo
 * and hi get values outside of [0, weight]. */
void cluster__normalise(const double *v, size_t n, unsigned dims, const struct cluster_feature *f,
			const double *lo, const double *hi, double *out);

/*
 * M. Ester et al., "A density-based algorithm for discovering clusters", 1996. Points within eps
 * (Euclid, inclusive) are neighbours; a point with at least min_pts neighbours, itself among them,
 * is a core point. Clusters 1..*k are numbered by their first core point; a border point belongs to
 * the first cluster that reaches it. O(n) cells of a grid are searched, not O(n^2) pairs.
 * ANALYSIS_UNSUITABLE, all labels 0: eps is not above 1e-9 times the extent of the points, or a
 * value is not finite.
 */
enum analysis_status cluster__dbscan(const double *v, size_t n, unsigned dims, double eps,
				     size_t min_pts, unsigned *labels, unsigned *k);

/* Clusters 1..k are numbered anew by the sum of their durations, largest first; ties by the first
 * point. A NaN of dur counts as no duration. */
enum analysis_status cluster__relabel(unsigned *labels, const double *dur, size_t n, unsigned k);

struct cluster_kdist {
	size_t knee; /* the index in kdist of the value that eps was made of */
	double eps;
};

/*
 * The distance of every point to the min_pts-th nearest (itself is the first), descending, and the
 * eps that it suggests: with both axes scaled to [0, 1], the value farthest below the straight line
 * from the first to the last one, within [0.005, 0.05]; CLUSTER_EPS where all distances are 0.
 * ANALYSIS_INSUFFICIENT, kdist NaN and eps = CLUSTER_EPS: fewer than min_pts points.
 */
enum analysis_status cluster__kdist(const double *v, size_t n, unsigned dims, size_t min_pts,
				    double *kdist, struct cluster_kdist *r);

/* Which bursts are clustered where clustering all of them would take too long. */
struct cluster_subset {
	size_t all;	/* all bursts, where there are at most so many; else */
	size_t threads; /* all bursts of so many threads, */
	double part;	/* this part of the other bursts, */
	size_t limit;	/* but not more than so many in all */
};

#define CLUSTER_SUBSET ((struct cluster_subset){20000, 8, 0.15, 50000})

/*
 * take[i] for the bursts of the subset, of which there are *taken. thread[i] < nthreads is the
 * thread of burst i, key[i] its hash (reduce.h); the threads are those with the smallest
 * splitmix64(seed ^ thread). Above the limit, the thresholds of the hash of both parts are lowered
 * by the same factor. ANALYSIS_UNSUITABLE: a thread is not below nthreads.
 */
enum analysis_status cluster__subset(const unsigned *thread, const uint64_t *key, size_t n,
				     unsigned nthreads, uint64_t seed,
				     const struct cluster_subset *s, bool *take, size_t *taken);

/* labels[i] of point i: that of the nearest of the m points of the subset (the first of equally
 * near ones; noise is a label too), if that is within eps (inclusive), else 0. */
enum analysis_status cluster__classify(const double *subset, const unsigned *subset_labels,
				       size_t m, const double *v, size_t n, unsigned dims,
				       double eps, unsigned *labels);
/* The fraction of equal labels; NaN without points. */
double cluster__agreement(const unsigned *a, const unsigned *b, size_t n);

/* One cluster of the table; times in the unit of dur. */
struct cluster_row {
	size_t n;
	double total_dur, mean_dur;
	double std_dur; /* of the sample; NaN for fewer than two bursts */
	double share;	/* total_dur / that of all bursts, noise among them */
};

/* Fills rows[0..k], and means: k + 1 rows of ncols means of the columns of v (n rows of ncols),
 * over the bursts that have a value. Bursts with a NaN in dur count in n only. */
enum analysis_status cluster__table(const unsigned *labels, const double *dur, const double *v,
				    size_t n, size_t ncols, unsigned k, struct cluster_row *rows,
				    double *means);

/* How alike the tasks are: for bursts in the order of each task, the mean over the position of the
 * burst of the fraction of the tasks (of those that have so many bursts) in the position's most
 * frequent cluster. task[i] < ntasks; bursts are in time order. */
enum analysis_status cluster__spmdness(const unsigned *labels, const unsigned *task, size_t n,
				       unsigned ntasks, double *spmdness);

/* A clustering of one window of time, in raw metrics, all positive. */
struct cluster_window {
	const double *v;
	const unsigned *labels;
	const double *dur;
	size_t n;
	unsigned dims, k;
};

/* How much two clusterings must have in common. */
struct cluster_level {
	double margin;	  /* boxes are widened to [lo * (1 - margin), hi * (1 + margin)] */
	double threshold; /* shares of time that must be in clusters that match */
};

#define CLUSTER_LEVEL	 ((struct cluster_level){0.05, 0.85})
#define CLUSTER_IN_A_ROW 3

/* The level after so many windows without stability: every 5 of them lower the threshold by 0.05,
 * not below 0.60, and raise the margin by 0.05, not above 0.20. */
struct cluster_level cluster_level__after(unsigned windows);

struct cluster_pair {
	unsigned a, b;
};

/* Two windows, cluster by cluster. */
struct cluster_comparison {
	struct cluster_pair *pairs; /* clusters whose boxes overlap, by a, then by b */
	size_t npairs;
	double share_a, share_b; /* of all durations, noise among them, in clusters with a pair */
	bool equivalent;	 /* the smaller share is at least the threshold */
};

/* ANALYSIS_UNSUITABLE: the windows have other dimensions, or a label is above k. */
enum analysis_status cluster__compare(const struct cluster_window *a,
				      const struct cluster_window *b, struct cluster_level level,
				      struct cluster_comparison *c);
void cluster_comparison__free(struct cluster_comparison *c);

/* Counts, from the n - 1 comparisons of n windows, in streak[w] the equivalent windows in a row
 * that end with w. Returns the first window with a streak of in_a_row, n if there is none. */
size_t cluster__streaks(const bool *equivalent, size_t n, unsigned in_a_row, unsigned *streak);

/*
 * Names that clusters keep over windows: name_b[1..b->k] are those of the clusters of a
 * (name_a[1..a->k]) with which they match best, one to one, greedily by the intersection over the
 * union of the widened boxes in the plane of the logarithms; clusters without a match are named
 * (*next)++. Index 0 is not used.
 */
enum analysis_status cluster__identify(const struct cluster_window *a,
				       const struct cluster_window *b, double margin,
				       const unsigned *name_a, unsigned *name_b, unsigned *next);

#endif
