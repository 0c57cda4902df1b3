// SPDX-License-Identifier: GPL-2.0-or-later
/* Periods of made threads: iterations of a known length, and code that does not come again. */

#include "tests/unit/unit.h"
#include "analysis/fold/fold_period.h"

#define HZ   97.0
#define MANY 40000

static struct fold_sample samples[MANY];
static uint64_t code[MANY];

static struct fold_trace trace_of(size_t n)
{
	return (struct fold_trace){.samples = samples, .code = code, .nsamples = n};
}

/* Code that goes on for long needs few samples a second: the search takes less time then. */
static double clock_of(double part_s)
{
	return part_s > 0.3 ? HZ / 8 : HZ;
}

/* The time of the sample after one at t: the clock is another one four times a second, from 0.8
 * to 1.2 hz.
 */
static double next_tick(double t, double hz)
{
	static double factor = 1;

	if (floor(4 * t) > floor(4 * (t - 1 / (hz * factor))))
		factor = 0.8 + 0.4 * drand48();
	return t + (0.998 + 0.004 * drand48()) / (hz * factor);
}

/* What an iteration executes, a letter for equal parts of it. Iterations differ by up to jitter. */
static size_t iterate(const char *parts, double period_s, double jitter, double all_s)
{
	double begin = 0, length = period_s, hz = clock_of(period_s / (double)strlen(parts));
	size_t n = 0;

	for (double t = 0; t < all_s && n < MANY; t = next_tick(t, hz)) {
		while (t >= begin + length) {
			begin += length;
			length = period_s * (1 + jitter * (2 * drand48() - 1));
		}
		samples[n].t = t;
		code[n++] = (uint64_t)parts[(size_t)((t - begin) / length * (double)strlen(parts))];
	}
	return n;
}

/* Whatever comes next is a matter of chance, and takes mean_s on average. */
static size_t wander(double mean_s, double all_s)
{
	double until = 0, hz = clock_of(mean_s / 5);
	uint64_t now = 0;
	size_t n = 0;

	for (double t = 0; t < all_s && n < MANY; t = next_tick(t, hz)) {
		if (t >= until) {
			now = 1 + (uint64_t)(3 * drand48());
			until = t - mean_s * log(1 - drand48());
		}
		samples[n].t = t;
		code[n++] = now;
	}
	return n;
}

static void expect(const char *parts, double period_s, double jitter)
{
	double all_s = fmax(16, 30 * period_s);
	struct fold_trace t = trace_of(iterate(parts, period_s, jitter, all_s));
	struct fold_instance *out = calloc(MANY, sizeof(*out));
	struct fold_period p;
	double found_s;
	size_t n;

	if (fold_period__find(&t, &p) != ANALYSIS_OK)
		fail_msg("%s of %g s: none", parts, period_s);
	n = fold_period__instances(&t, &p, 0, out, MANY);
	assert_true(n > 2);
	found_s = (out[n - 1].t1 - out[0].t0) / (double)n;
	if (fabs(found_s / period_s - 1) > 0.01)
		fail_msg("%s of %g s: %g s", parts, period_s, found_s);
	assert_true((double)n > 0.5 * all_s / period_s && (double)n < 1.01 * all_s / period_s + 1);
	for (size_t i = 0; i < n; i++)
		assert_true(fabs((out[i].t1 - out[i].t0) / period_s - 1) < 0.2);
	free(out);
}

TEST(periods_from_milliseconds_to_seconds)
{
	static const double s[] = {0.012, 0.017, 0.024, 0.11, 0.45, 1, 2, 7.5};

	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
		srand48((long)i);
		expect("aaabbccccc", s[i], 0);
		expect("aaabbccccc", s[i], 0.03);
		expect("aaaaaaaaab", s[i], 0.02);
	}
	expect("aaabbccccc", 40, 0.02);
	expect("aabbb", 1, 0);
	expect("abbb", 4, 0);
}

TEST(a_period_in_which_code_comes_again)
{
	static const double s[] = {0.2, 0.8, 3};

	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
		srand48((long)i);
		expect("abac", s[i], 0.01);
		expect("aabaabaaccc", s[i], 0.01);
	}
}

/* The inner loop's, of which there are most. */
TEST(a_loop_in_a_loop_of_many)
{
	char parts[2 * 50 + 2] = "";
	struct fold_period p;
	struct fold_trace t;

	for (int i = 0; i < 50; i++)
		strcat(parts, "ab");
	parts[99] = 'c';
	srand48(1);
	t = trace_of(iterate(parts, 5, 0.001, 40));
	assert_int_equal(fold_period__find(&t, &p), ANALYSIS_OK);
	assert_true(fabs(p.period_s / 0.1 - 1) < 0.01);
}

TEST(no_period_where_there_is_none)
{
	static const double mean_s[] = {0.05, 0.3, 1, 3, 10};
	struct fold_period p;
	struct fold_trace t;
	int found = 0;

	for (long seed = 0; seed < 10; seed++) {
		srand48(seed);
		t = trace_of(wander(mean_s[seed % 5], fmax(60, 30 * mean_s[seed % 5])));
		found += fold_period__find(&t, &p) == ANALYSIS_OK;
	}
	assert_int_equal(found, 0);
	t = trace_of(iterate("abbbbbbccc", 100, 0, 100)); /* one pass */
	assert_int_equal(fold_period__find(&t, &p), ANALYSIS_INSUFFICIENT);
	t = trace_of(iterate("aabbbc", 200, 0, 200));
	assert_int_equal(fold_period__find(&t, &p), ANALYSIS_INSUFFICIENT);
	t = trace_of(iterate("a", 1, 0, 200));
	assert_int_equal(fold_period__find(&t, &p), ANALYSIS_INSUFFICIENT);
}

/* Of a clock that never changed they would be as longer ones. */
TEST(loops_faster_than_the_samples)
{
	static const double s[] = {0.0011, 0.0031, 0.005, 0.0052, 0.0071};
	struct fold_period p;
	struct fold_trace t;

	for (size_t i = 0; i < 4 * sizeof(s) / sizeof(*s); i++) {
		srand48((long)i);
		t = trace_of(
			iterate("aaabbccccc", s[i / 4], i % 2 ? 0.01 : 0, i % 4 < 2 ? 11 : 20));
		if (fold_period__find(&t, &p) == ANALYSIS_OK)
			fail_msg("%g s: %g s", s[i / 4], p.period_s);
	}
}

TEST(few_iterations_are_not_taken_for_a_loop)
{
	struct fold_period p;
	struct fold_trace t;

	srand48(1);
	t = trace_of(iterate("aaabbccccc", 4, 0, 30));
	assert_int_equal(fold_period__find(&t, &p), ANALYSIS_INSUFFICIENT);
}
