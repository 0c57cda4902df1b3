/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User and system time, scaled to the exact run time. */

#include "tests/unit/unit.h"
#include "bpf/abi/family.h"
#include "sample/totals.h"

static struct totals of(uint64_t user, uint64_t system, uint64_t run)
{
	struct totals t = {0};

	t.v[T_USER] = user;
	t.v[T_SYSTEM] = system;
	t.v[T_CPU] = run;
	return t;
}

static void is(const struct totals *t, uint64_t user, uint64_t system)
{
	assert_int_equal(t->v[T_USER], user);
	assert_int_equal(t->v[T_SYSTEM], system);
}

TEST(ticks_are_scaled_to_the_run_time)
{
	struct totals none = {0}, now = of(4000000, 12000000, 20000000);

	totals__split(&now, &none);
	is(&now, 5000000, 15000000);
}

TEST(without_a_tick_in_the_kernel_all_is_user_time)
{
	struct totals none = {0}, now = of(0, 0, 700), user = of(4000000, 0, 900),
		      system = of(0, 4000000, 900);

	totals__split(&now, &none);
	is(&now, 700, 0);
	totals__split(&user, &none);
	is(&user, 900, 0);
	totals__split(&system, &none);
	is(&system, 0, 900);
}

/* A first millisecond without a tick was taken for user time; the ticks then say system. */
TEST(neither_falls)
{
	struct totals none = {0}, first = of(0, 0, 1000000), then = of(0, 4000000, 5000000),
		      last = of(4000000, 4000000, 8000000);

	totals__split(&first, &none);
	totals__split(&then, &first);
	is(&then, 1000000, 4000000);
	totals__split(&last, &then);
	is(&last, 4000000, 4000000);
	none = of(8000000, 4000000, 9000000);
	totals__split(&none, &last);
	is(&none, 5000000, 4000000);
}

TEST(a_torn_reading_changes_nothing)
{
	struct totals prev = of(600, 400, 1000), now = of(900, 100, 990);

	totals__clamp(&now, &prev, 0);
	is(&now, 600, 400);
	assert_int_equal(now.v[T_CPU], 1000);
}

/* A thread that sleeps had 9 s in the sum, and nobody knows since when it has slept on. */
TEST(what_rested_may_fall)
{
	struct totals prev = of(0, 0, 1000), now = of(0, 0, 900), again;

	prev.v[T_BLOCKED] = 9000;
	prev.v[T_OPENS] = 10;
	again = now;
	totals__clamp(&now, &prev, FAM_WAIT);
	assert_int_equal(now.v[T_BLOCKED], 0);
	assert_int_equal(now.v[T_OPENS], 10);
	assert_int_equal(now.v[T_CPU], 1000);
	totals__clamp(&again, &prev, 0);
	assert_int_equal(again.v[T_BLOCKED], 9000);
}

/* 2^63 ns of each do not overflow: some 292 years of CPU time. */
TEST(large_counts_do_not_overflow)
{
	struct totals none = {0}, now = of(1ull << 62, 1ull << 62, 1ull << 63);

	totals__split(&now, &none);
	is(&now, 1ull << 62, 1ull << 62);
}
