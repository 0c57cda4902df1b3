/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sample/totals.h"

static struct totals of(uint64_t user, uint64_t system, uint64_t run)
{
	struct totals t = {0};

	t.v[T_UTIME] = user;
	t.v[T_STIME] = system;
	t.v[T_RUNTIME] = run;
	return t;
}

static void is(const struct totals *t, uint64_t user, uint64_t system)
{
	assert_int_equal(t->v[T_UTIME], user);
	assert_int_equal(t->v[T_STIME], system);
}

static void ticks_are_scaled_to_the_run_time(void **state)
{
	struct totals none = {0}, now = of(4000000, 12000000, 20000000);

	totals__split(&now, &none);
	is(&now, 5000000, 15000000);
}

static void without_a_tick_in_the_kernel_all_is_user_time(void **state)
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
static void neither_falls(void **state)
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

static void a_torn_reading_changes_nothing(void **state)
{
	struct totals prev = of(600, 400, 1000), now = of(900, 100, 990);

	totals__clamp(&now, &prev);
	is(&now, 600, 400);
	assert_int_equal(now.v[T_RUNTIME], 1000);
}

/* 2^63 ns of each do not overflow: some 292 years of CPU time. */
static void large_counts_do_not_overflow(void **state)
{
	struct totals none = {0}, now = of(1ull << 62, 1ull << 62, 1ull << 63);

	totals__split(&now, &none);
	is(&now, 1ull << 62, 1ull << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_scaled_to_the_run_time),
		cmocka_unit_test(without_a_tick_in_the_kernel_all_is_user_time),
		cmocka_unit_test(neither_falls),
		cmocka_unit_test(a_torn_reading_changes_nothing),
		cmocka_unit_test(large_counts_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
