// SPDX-License-Identifier: GPL-2.0-or-later
/* Idle power and the power of a core, learned while the node is idle or runs one step. */

#include "tests/unit/unit.h"
#include "energy/energy_calib.h"

static struct calib_package c;

static int make(void **state)
{
	calib_package__init(&c);
	return 0;
}

static void feed(unsigned times, double pkg, double busy, uint64_t step)
{
	struct calib_window w = {1, pkg, NAN, 10, busy, busy, step};

	while (times--)
		calib_package__add(&c, &w);
}

TEST(idle_power_is_known_after_a_batch)
{
	feed(CALIB_BATCH - 1, 30, 0.1, 1);
	assert_true(isnan(calib_package__pkg_idle_w(&c)));
	feed(1, 30, 0.1, 1);
	assert_true(calib_package__pkg_idle_w(&c) == 30);
	assert_true(isnan(calib_package__dram_idle_w(&c)));
	assert_true(c.pkg.spread == 0 && c.pkg.windows == CALIB_BATCH);
}

TEST(busy_windows_say_nothing)
{
	feed(100, 20, 0.5, 1);
	assert_true(isnan(calib_package__pkg_idle_w(&c)));
}

/* Four wild readings of nine, low and high, change nothing. */
TEST(bad_readings_do_no_harm)
{
	for (unsigned i = 0; i < 20; i++) {
		feed(5, 30, 0.1, 1);
		feed(2, 0, 0.1, 1);
		feed(2, 300, 0.1, 1);
	}
	assert_true(calib_package__pkg_idle_w(&c) == 30);
}

TEST(the_least_of_a_day_is_it)
{
	feed(CALIB_BATCH, 34, 0.3, 1); /* warm still, and not quite idle */
	feed(CALIB_BATCH, 30, 0.1, 1);
	feed(50 * CALIB_BATCH, 33, 0.3, 1);
	assert_true(calib_package__pkg_idle_w(&c) == 30);
}

/* Another governor: after two epochs the old value is gone, and not before one. */
TEST(what_was_true_long_ago_is_forgotten)
{
	feed(CALIB_BATCH, 30, 0.1, 1);
	feed(CALIB_BATCH * (CALIB_EPOCH - 1), 40, 0.1, 1);
	assert_true(calib_package__pkg_idle_w(&c) == 30);
	feed(CALIB_BATCH * (CALIB_EPOCH - 1), 40, 0.1, 1);
	assert_true(calib_package__pkg_idle_w(&c) == 30);
	feed(CALIB_BATCH, 40, 0.1, 1);
	assert_true(calib_package__pkg_idle_w(&c) == 40);
}

TEST(dram_has_its_own)
{
	struct calib_window w = {2, NAN, 8, 10, 0.1, 0.1, 1};

	for (unsigned i = 0; i < CALIB_BATCH; i++)
		calib_package__add(&c, &w);
	assert_true(calib_package__dram_idle_w(&c) == 4);
	assert_true(isnan(calib_package__pkg_idle_w(&c)));
}

static void expect_range(double least, double most)
{
	double low, high;

	calib_package__range(&c, &low, &high);
	assert_true(isnan(least) ? isnan(low) && isnan(high) : low == least && high == most);
}

/* Steps of 2, 3, ... W per core on five cores, above 30 W. */
TEST(power_of_a_core)
{
	feed(CALIB_BATCH, 30, 0.1, 1);
	for (unsigned i = 0; i < CALIB_STEPS; i++) {
		expect_range(NAN, NAN);
		feed(CALIB_BATCH, 30 + 5 * (2.0 + i), 5, 10 + i);
	}
	expect_range(2 / CALIB_MARGIN, (CALIB_STEPS + 1) * CALIB_MARGIN);
}

/* One step for a long time is one step; so is one that is never alone for a whole batch. */
TEST(one_step_is_not_many)
{
	feed(CALIB_BATCH, 30, 0.1, 1);
	feed(100 * CALIB_BATCH, 60, 5, 10);
	expect_range(NAN, NAN);
	for (unsigned i = 0; i < 100; i++)
		feed(CALIB_BATCH - 1, 60, 5, 10 + i);
	expect_range(NAN, NAN);
}

TEST(two_at_once_say_nothing)
{
	struct calib_window w = {1, 60, NAN, 10, 5, 4.5, 1};

	feed(CALIB_BATCH, 30, 0.1, 1);
	for (unsigned i = 0; i < 100 * CALIB_BATCH; i++) {
		w.step = i / CALIB_BATCH;
		calib_package__add(&c, &w);
	}
	expect_range(NAN, NAN);
	assert_true(isnan(c.core.least_w));
}

TEST(the_rest_of_the_node)
{
	struct calib_min other;

	calib_min__init(&other);
	for (unsigned i = 0; i < CALIB_BATCH; i++) {
		calib_other__add(&other, 50, 0.5);
		calib_other__add(&other, NAN, 0.01);
		calib_other__add(&other, 80, 0.01);
	}
	assert_true(calib_min__value(&other) == 80);
}

static struct unit_fixture fixture = {.setup = make};
