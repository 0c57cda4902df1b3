// SPDX-License-Identifier: GPL-2.0-or-later
/* What a read of the hardware counters costs, and whether the budget allows it. */

#include "tests/unit/unit.h"
#include "kern/pmu/pmu.h"

#define N 11

/* Work of 600 us, getting faster as the clock of a CPU rises, with 8 samples of ns each. */
static void rounds_of(struct pmu_round *r, double ns)
{
	for (unsigned i = 0; i < N; i++) {
		double work = 600000 - 3000.0 * i;

		r[i] = (struct pmu_round){work, work - 1500 + 8 * ns, work - 3000, 8};
	}
}

TEST(a_steady_cost_is_found)
{
	struct pmu_round r[N];

	rounds_of(r, 3100);
	assert_float_equal(pmu_cost__sample(r, N), 3100, 1e-6);
	rounds_of(r, 15000);
	assert_float_equal(pmu_cost__sample(r, N), 15000, 1e-6);
	/* per sample, however many there were */
	for (unsigned i = 0; i < N; i++) {
		r[i].with += 15000.0 * (i % 3);
		r[i].samples += i % 3;
	}
	assert_float_equal(pmu_cost__sample(r, N), 15000, 1e-6);
}

TEST(a_few_bad_rounds_do_no_harm)
{
	struct pmu_round r[N];

	rounds_of(r, 3100);
	r[0].with += 4e6; /* a hypervisor ran something else */
	r[3].before += 4e6;
	r[7].with = NAN;
	r[8].samples = 0;
	assert_float_equal(pmu_cost__sample(r, N), 3100, 1e-6);
}

TEST(a_wide_spread_is_not_trusted)
{
	struct pmu_round r[N];

	rounds_of(r, 3100);
	for (unsigned i = 0; i < N; i++)
		r[i].with += 8 * 2000.0 * (i % 4);
	assert_true(isnan(pmu_cost__sample(r, N)));
	rounds_of(r, 3100);
	for (unsigned i = 0; i < N; i++)
		r[i].with += 8 * 200.0 * (i % 4);
	assert_in_range((uint64_t)pmu_cost__sample(r, N), 3100, 3700);
}

TEST(too_few_rounds_are_not_trusted)
{
	struct pmu_round r[N];

	rounds_of(r, 3100);
	assert_true(isnan(pmu_cost__sample(r, 0)));
	assert_true(isnan(pmu_cost__sample(r, PMU_ROUNDS_MIN - 1)));
	assert_false(isnan(pmu_cost__sample(r, PMU_ROUNDS_MIN)));
	for (unsigned i = 0; i < N - PMU_ROUNDS_MIN + 1; i++)
		r[i].samples = 0;
	assert_true(isnan(pmu_cost__sample(r, N)));
}

TEST(what_no_interrupt_takes_is_not_believed)
{
	struct pmu_round r[N];

	rounds_of(r, PMU_SAMPLE_LEAST - 1);
	assert_true(isnan(pmu_cost__sample(r, N)));
	rounds_of(r, -3100);
	assert_true(isnan(pmu_cost__sample(r, N)));
	rounds_of(r, PMU_SAMPLE_MOST + 1);
	assert_true(isnan(pmu_cost__sample(r, N)));
	rounds_of(r, PMU_SAMPLE_MOST);
	assert_false(isnan(pmu_cost__sample(r, N)));
}

TEST(assumed_where_it_is_not_known)
{
	assert_float_equal(pmu_cost__assumed(80, 1), 2000, 0);
	assert_float_equal(pmu_cost__assumed(2400, 8), 7200, 0);  /* three readings */
	assert_float_equal(pmu_cost__assumed(1010, 1), 15000, 0); /* it traps */
	assert_float_equal(pmu_cost__assumed(17000, 4), 51000, 0);
}

/* 1 % of a second is 10 ms: 5000 readings of 2 us, 3000 samples of 3.33 us. */
TEST(the_budget_decides)
{
	assert_true(pmu_cost__affords_reads(2000, 1));
	assert_false(pmu_cost__affords_reads(2001, 1));
	assert_true(pmu_cost__affords_reads(2001, 1.1));
	assert_float_equal(pmu_cost__rate(10000 / 3.0, 3, 1, 1e6), 1000, 1e-6);
	assert_float_equal(pmu_cost__rate(10000 / 3.0, 1, 0.1, 1e6), 300, 1e-6);
	/* dear samples leave less than says anything */
	assert_true(pmu_cost__rate(11000, 6, 0.01, 1e6) < PMU_SAMPLES_MIN);
	assert_true(pmu_cost__rate(1100, 6, 0.01, 1e6) > PMU_SAMPLES_MIN);
	/* and no more than a quarter of what all users may have */
	assert_float_equal(pmu_cost__rate(1000, 2, 20, 25500), 25500 / 4.0 / 2, 1e-6);
}
