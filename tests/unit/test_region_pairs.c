// SPDX-License-Identifier: GPL-2.0-or-later
/* Begins and ends of calls, which may be nested, left by longjmp, or not seen. */
#include "tests/unit/unit.h"
#include "daemon/step/regions.h"

static struct region_pairs pairs;

static int setup(void **state)
{
	(void)state;
	pairs = (struct region_pairs){.nopen = 0};
	return 0;
}

static void begin(uint64_t time, uint64_t frame)
{
	region_pairs__begin(&pairs, &(struct region_mark){time, 7, frame, 1, {time + 5, 3}});
}

/* When the call that ends there began; 0: that is not known. */
static uint64_t end(uint64_t time, uint64_t frame)
{
	const struct region_mark m = {time, 7, frame, 1, {time + 5, 4}};
	struct region_mark began;

	if (!region_pairs__end(&pairs, &m, &began))
		return 0;
	assert_true(began.used.cpu_ns == (double)began.time_ns + 5 && began.used.faults == 3);
	return began.time_ns;
}

TEST(recursion)
{
	begin(10, 300);
	begin(20, 200);
	begin(30, 100);
	assert_int_equal(end(40, 100), 30);
	assert_int_equal(end(50, 200), 20);
	assert_int_equal(end(60, 300), 10);
	assert_int_equal(pairs.lost + pairs.nopen, 0);
}

/* The kernel sees the return of the outer 64 calls of a recursion. */
TEST(inner_calls_whose_return_is_not_seen)
{
	for (unsigned i = 0; i < 100; i++)
		begin(10 + i, 1000 - i);
	for (unsigned i = 64; i-- > 0;)
		assert_int_equal(end(1000 - i, 1000 - i), 10 + i);
	assert_int_equal(pairs.lost, 36);
	assert_int_equal(pairs.nopen, 0);
}

TEST(a_call_that_was_left_by_longjmp)
{
	begin(10, 300);
	begin(20, 200); /* left */
	begin(30, 200);
	assert_int_equal(end(40, 200), 30);
	assert_int_equal(end(50, 300), 10);
	assert_int_equal(pairs.lost, 1);
	begin(60, 200); /* left, and nothing comes after it */
	region_pairs__lose(&pairs, 0);
	assert_int_equal(pairs.lost, 2);
}

TEST(whose_probes_were_taken_away)
{
	const struct region_mark other = {15, 7, 250, 2, {20, 3}},
				 its_end = {50, 7, 250, 2, {55, 4}};
	struct region_mark began;

	begin(10, 300);
	region_pairs__begin(&pairs, &other);
	begin(20, 200);
	region_pairs__forget(&pairs, 1);
	assert_int_equal(pairs.lost, 2);
	assert_true(region_pairs__end(&pairs, &its_end, &began));
	assert_int_equal(began.time_ns, 15);
	assert_int_equal(end(60, 300), 0);
	assert_int_equal(pairs.lost, 3);
}

/* In a child of fork() the calls of its parent return, too. */
TEST(a_return_without_its_call)
{
	assert_int_equal(end(40, 200), 0);
	assert_int_equal(pairs.lost, 1);
	begin(50, 300);
	assert_int_equal(end(60, 200), 0);
	assert_int_equal(end(70, 300), 50);
	assert_int_equal(pairs.lost, 2);
}

static struct unit_fixture fixture = {.setup = setup};
