// SPDX-License-Identifier: GPL-2.0-or-later
/* Energy over intervals from one channel: slow counters, and power. */
#include "tests/unit/unit.h"

#include "energy/meter.h"

#define S 1000000000ull

static const struct sensor_channel counted = {.quantity = QUANTITY_ENERGY};
static const struct sensor_channel power = {.quantity = QUANTITY_POWER};

/* One channel, as the source said it. */
static struct channel_state said(const struct sensor_ops *ops, double value, uint64_t time_ns)
{
	return (struct channel_state){ops, &counted, value, time_ns, 0, READING_GOOD};
}

TEST(slow_counters_stay_true)
{
	static const struct sensor_ops slow = {.name = "slow", .slow = true};
	struct channel_state c = said(&slow, 0, 100 * S);
	struct meter meter = {};
	double sum = 0;

	assert_true(isnan(meter__take(&meter, &c, 100 * S)));
	assert_true(isnan(meter__take(&meter, &c, 101 * S)));
	/* 100 W until second 110, then 200: it tells every 5 s, a second late */
	for (uint64_t t = 102; t <= 130; t++) {
		uint64_t of = (t - 1) / 5 * 5;
		double j;

		c = said(&slow, of <= 110 ? 100. * (of - 100.) : 1000 + 200. * (of - 110.), of * S);
		j = meter__take(&meter, &c, t * S);
		assert_true(isnan(j) || (j >= 0 && j <= 700));
		sum += isnan(j) ? 0 : j;
		if (t == 110)
			near(sum, 500); /* from second 105 on, when its power was known */
	}
	/* its 4,000 J and 5 s of 200 W, less what came before its power was known */
	near(sum, 4000 + 1000 - 500);
	c.gaps++;
	assert_true(isnan(meter__take(&meter, &c, 131 * S)));
}

TEST(power_is_taken_to_last)
{
	static const struct sensor_ops quick = {.name = "quick"};
	struct channel_state c = {&quick, &power, 150, 100 * S, 0, READING_GOOD};
	struct meter meter = {};

	assert_true(isnan(meter__take(&meter, &c, 100 * S)));
	near(meter__take(&meter, &c, 102 * S), 300);
	c.value = NAN;
	assert_true(isnan(meter__take(&meter, &c, 103 * S)));
	c.value = 50;
	near(meter__take(&meter, &c, 104 * S), 50);
	assert_true(isnan(meter__take(&meter, &c, 300 * S))); /* it has said nothing for minutes */
}
