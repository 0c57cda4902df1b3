// SPDX-License-Identifier: GPL-2.0-or-later
/* The bounds of a reading of a slow or late sensor. */

#include "tests/unit/unit.h"
#include "energy/energy_lag.h"

static struct energy_lag lag;

static int make(void **state)
{
	lag = (struct energy_lag){0};
	return 0;
}

static void add(unsigned times, double quick_w, double slow_w)
{
	while (times--)
		energy_lag__add(&lag, 1, quick_w, slow_w);
}

TEST(steady_power_is_off_by_half_a_step)
{
	assert_true(energy_lag__off(&lag, 1, 5) == 0);
	add(100, 200, 300);
	assert_true(energy_lag__off(&lag, 1, 5) == 0.5);
	energy_lag__add(&lag, 10, 200, 300);
	assert_true(energy_lag__off(&lag, 1, 5) == 5);
}

/* Over the time that the slow one is late, and no longer. */
TEST(a_jump_is_off_by_itself)
{
	add(10, 200, 300);
	add(1, 280, 300);
	assert_true(energy_lag__off(&lag, 0, 5) == 80);
	add(3, 280, 300);
	assert_true(energy_lag__off(&lag, 0, 5) == 80);
	add(1, 280, 300);
	assert_true(energy_lag__off(&lag, 0, 5) == 0);
}

TEST(there_and_back_counts)
{
	add(3, 200, 300);
	add(1, 260, 300);
	add(1, 200, 300);
	assert_true(energy_lag__off(&lag, 0, 5) == 60);
}

/* Fans, that no quick sensor sees. */
TEST(what_only_the_slow_one_sees)
{
	for (unsigned i = 0; i < 10; i++)
		add(1, 200, 300 + i);
	assert_true(energy_lag__off(&lag, 0, 5) == 4);
	add(5, NAN, 309);
	assert_true(energy_lag__off(&lag, 0, 5) == 0);
}

/* No further back than is kept. */
TEST(a_long_delay_is_cut)
{
	add(1, 500, 600);
	add(LAG_KEPT - 1, 200, 300);
	assert_true(energy_lag__off(&lag, 0, 1e9) == 300);
	add(1, 200, 300);
	assert_true(energy_lag__off(&lag, 0, 1e9) == 0);
}

/* 100 W and 300 W in turns of 7 s, and what is read n seconds later, with the rest of the node. */
static double wave(unsigned t)
{
	return t / 7 % 2 ? 300 : 100;
}

TEST(a_late_sensor_is_found_out)
{
	for (unsigned late = 0; late <= 5; late += 5) {
		lag = (struct energy_lag){};
		for (unsigned t = 100; t < 100 + LAG_KEPT; t++) {
			assert_true(isnan(energy_lag__find(&lag)));
			energy_lag__add(&lag, 2, wave(t), 80 + 1.1 * wave(t - late));
		}
		assert_true(fabs(energy_lag__find(&lag) - 2. * late) < 1e-9);
	}
}

TEST(what_cannot_be_told_is_not)
{
	for (unsigned t = 0; t < LAG_KEPT; t++) /* steady */
		energy_lag__add(&lag, 1, 200 + t % 2, 300);
	assert_true(isnan(energy_lag__find(&lag)));
	for (unsigned t = 0; t < LAG_KEPT; t++) /* goes its own way */
		energy_lag__add(&lag, 1, wave(t), t * t * 7919 % 13 * 30);
	assert_true(isnan(energy_lag__find(&lag)));
	for (unsigned t = 100; t < 100 + LAG_KEPT; t++) /* intervals of all lengths */
		energy_lag__add(&lag, 1 + t % 5, wave(t), wave(t - 3));
	assert_true(isnan(energy_lag__find(&lag)));
	for (unsigned t = 100; t < 100 + LAG_KEPT; t++) /* not measured once */
		energy_lag__add(&lag, 1, t == 120 ? NAN : wave(t), wave(t - 3));
	assert_true(isnan(energy_lag__find(&lag)));
}

static struct unit_fixture fixture = {.setup = make};
