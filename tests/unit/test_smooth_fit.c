// SPDX-License-Identifier: GPL-2.0-or-later
/* Least squares with a penalty on steps: sums of parts of a profile that is known. */

#include "tests/unit/unit.h"
#include "analysis/smooth_fit.h"

enum { N = 50, RANGE = 23, ROWS = 1000 }; /* no common factor: sums of ranges tell each x */

/* An equation: the sum of x over a range that starts anywhere, is of half of all, and goes round.
 */
static void add_range(struct smooth_fit *f, const double *x, double noise)
{
	double e[N] = {0}, y = noise * (2 * drand48() - 1);
	int from = (int)(drand48() * N);

	for (int i = from; i < from + RANGE; i++) {
		e[i % N] = 1;
		y += x[i % N];
	}
	smooth_fit__add(f, e, y);
}

static void solve(const double *truth, size_t n, double noise, double *x)
{
	struct smooth_fit f;

	srand48(1);
	assert_true(smooth_fit__init(&f, N, N));
	for (size_t i = 0; i < n; i++)
		add_range(&f, truth, noise);
	assert_int_equal(smooth_fit__solve(&f, x), ANALYSIS_OK);
	smooth_fit__free(&f);
}

static double largest_error(const double *truth, const double *x)
{
	double most = 0;

	for (int i = 0; i < N; i++)
		most = fmax(most, fabs(x[i] - truth[i]));
	return most;
}

TEST(exact_sums_give_the_profile_back)
{
	double truth[N], x[N];

	for (int i = 0; i < N; i++)
		truth[i] = i < 15 ? 7 : i < 30 ? 20 : 1;
	solve(truth, ROWS, 0, x);
	assert_true(largest_error(truth, x) < 0.5);
}

TEST(nothing_is_negative_and_where_nothing_is_little_is_found)
{
	double truth[N], x[N];

	for (int i = 0; i < N; i++)
		truth[i] = i >= 20 && i < 30 ? 10 : 0;
	solve(truth, ROWS, 5, x);
	for (int i = 0; i < N; i++) {
		assert_true(x[i] >= 0);
		assert_true(i >= 17 && i < 33 ? x[i] <= 13 : x[i] < 3);
	}
}

/* The noise is as large as a half of the sums. */
TEST(noise_makes_no_steps_of_a_profile_that_has_none)
{
	double truth[N], x[N];

	for (int i = 0; i < N; i++)
		truth[i] = 1;
	solve(truth, ROWS, 12, x);
	assert_true(largest_error(truth, x) < 0.1);
}

TEST(what_no_equation_tells_lies_between_its_neighbours)
{
	double x[N];
	struct smooth_fit f;

	assert_true(smooth_fit__init(&f, N, N));
	for (int i = 0; i < N; i += 10) {
		double e[N] = {0};

		e[i] = 1;
		for (int k = 0; k < 100; k++) /* as one row says too little of how smooth it is */
			smooth_fit__add(&f, e, 3 + i);
	}
	assert_int_equal(smooth_fit__solve(&f, x), ANALYSIS_OK);
	for (int i = 0; i <= 40; i++)
		assert_true(fabs(x[i] - (3 + i)) < 0.05);
	smooth_fit__free(&f);
}

TEST(an_unknown_without_equations_and_neighbours_is_0)
{
	double e[3] = {1, 1, 0}, x[3];
	struct smooth_fit f;

	assert_true(smooth_fit__init(&f, 3, 2));
	assert_int_equal(smooth_fit__solve(&f, x), ANALYSIS_INSUFFICIENT);
	for (int k = 0; k < 20; k++)
		smooth_fit__add(&f, e, 8);
	assert_int_equal(smooth_fit__solve(&f, x), ANALYSIS_OK);
	assert_true(fabs(x[0] - 4) < 1e-3 && fabs(x[1] - 4) < 1e-3 && x[2] == 0);
	smooth_fit__free(&f);
}
