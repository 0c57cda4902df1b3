// SPDX-License-Identifier: GPL-2.0-or-later
/* Iterations of made bursts: even and uneven ones, loops in loops, and waits that come by chance.
 */

#include "tests/unit/unit.h"
#include "analysis/fold/fold_period.h"

#define MANY 20000

static struct fold_wake wakes[MANY];
static struct fold_instance found[MANY];

static double uniform(double from, double to)
{
	return from + (to - from) * drand48();
}

/* Iterations of length_s and up to jitter of that more or less, which end with a wait of a fifth of
 * it; inside of each some shorter waits. */
static size_t iterate(unsigned n, unsigned inner, double length_s, double jitter)
{
	double t = 0;
	size_t k = 0;

	for (unsigned i = 0; i < n; i++) {
		double length = length_s * (1 + uniform(-jitter, jitter));

		for (unsigned part = 0; part <= inner; part++)
			wakes[k++] = (struct fold_wake){
				t + length * part / (inner + 1),
				part ? length / 500
				: i  ? length / 5
				     : NAN,
			};
		t += length;
	}
	return k;
}

static double period_of(size_t n, double period_s)
{
	struct fold_train t;

	return fold_train__find(wakes, n, period_s, &t) == ANALYSIS_OK ? t.period_s : NAN;
}

TEST(uneven_iterations_begin_where_the_thread_wakes_up)
{
	const double jitters[] = {0, 0.1, 0.4};

	for (int i = 0; i < 3; i++) {
		size_t n = iterate(200, 0, 0.05, jitters[i]);
		struct fold_train t;

		assert_int_equal(fold_train__find(wakes, n, NAN, &t), ANALYSIS_OK);
		assert_true(fabs(t.period_s - 0.05) < 0.005);
		/* the first one's gap is not known, and the last one has no end */
		assert_int_equal(fold_train__instances(wakes, n, &t, found, MANY), 198);
		for (int k = 0; k < 198; k++) {
			assert_true(found[k].t0 == wakes[k + 1].t);
			assert_true(found[k].t1 == wakes[k + 2].t);
		}
		assert_int_equal(fold_train__instances(wakes, n, &t, found, 5), 5);
	}
}

TEST(of_a_loop_in_a_loop_the_period_decides)
{
	size_t n = iterate(100, 4, 0.5, 0.05);

	assert_true(fabs(period_of(n, NAN) - 0.1) < 0.02);
	assert_true(fabs(period_of(n, 0.1) - 0.1) < 0.02);
	assert_true(fabs(period_of(n, 0.5) - 0.5) < 0.05);
	assert_true(isnan(period_of(n, 0.25)));
}

TEST(short_waits_at_any_time_do_not_hide_the_long_ones)
{
	size_t n = 0;
	double t = 0;

	for (unsigned i = 0; i < 100; i++) {
		wakes[n++] = (struct fold_wake){t, 0.02};
		for (double at = 0; (at -= 0.02 * log(1 - drand48())) < 0.07;)
			wakes[n++] = (struct fold_wake){t + at, uniform(1e-5, 1e-3)};
		t += 0.1;
	}
	assert_true(fabs(period_of(n, NAN) - 0.1) < 0.001);
}

/* A thread may wait a few times when it begins, and for a moment in an iteration. */
TEST(a_few_short_waits_are_no_ends)
{
	size_t n = 0;
	struct fold_train t;

	for (unsigned i = 0; i < 5; i++)
		wakes[n++] = (struct fold_wake){0.03 * i, i ? 2e-5 : NAN};
	for (unsigned i = 0; i < 400; i++) {
		wakes[n++] = (struct fold_wake){1 + 0.035 * i, uniform(0.004, 0.016)};
		if (i % 100 == 50)
			wakes[n++] = (struct fold_wake){1.015 + 0.035 * i, 2e-5};
	}
	assert_int_equal(fold_train__find(wakes, n, NAN, &t), ANALYSIS_OK);
	assert_true(t.gap_s >= 0.004);
	assert_int_equal(fold_train__instances(wakes, n, &t, found, MANY), 399);
}

/* Waits become shorter: all of them end iterations. */
TEST(shorter_waits_of_later_iterations_are_ends)
{
	struct fold_train t;

	for (unsigned i = 0; i < 200; i++)
		wakes[i] = (struct fold_wake){0.05 * i, i < 100 ? 0.02 : 0.002};
	assert_int_equal(fold_train__find(wakes, 200, NAN, &t), ANALYSIS_OK);
	assert_int_equal(fold_train__instances(wakes, 200, &t, found, MANY), 199);
}

/* With exponential distances, and waits of any length, or of two kinds. */
TEST(waits_by_chance_end_no_iterations)
{
	unsigned wrong = 0;

	for (unsigned run = 0; run < 300; run++) {
		size_t n = (size_t)uniform(20, 2000);
		double t = 0;

		for (size_t i = 0; i < n; i++) {
			t -= log(1 - drand48());
			wakes[i] = (struct fold_wake){t, run % 2	   ? exp(uniform(-12, 0))
							 : drand48() < 0.2 ? 0.1
									   : 0.001};
		}
		wrong += !isnan(period_of(n, NAN));
	}
	assert_true(wrong <= 3);
}

TEST(few_iterations_say_nothing)
{
	assert_true(isnan(period_of(iterate(10, 0, 0.05, 0), NAN)));
	assert_true(isnan(period_of(0, NAN)));
	assert_false(isnan(period_of(iterate(13, 0, 0.05, 0), NAN)));
}
