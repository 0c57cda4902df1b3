// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose files are read when. */

#include <time.h>

#include "tests/unit/unit.h"
#include "index/turn.h"

static unsigned asked_until_later(struct read_turn *t, uid_t uid)
{
	unsigned n = 0;

	while (turn__ask(t, uid) == TURN_READ)
		n++;
	return n;
}

TEST(a_turn_is_so_many_jobs_of_a_user)
{
	struct read_turn t = {0}, later = {.round = 1}, much_later = {.round = 1000};

	assert_int_equal(asked_until_later(&t, 1), 500);
	assert_int_equal(turn__ask(&t, 1), TURN_LATER);
	assert_int_equal(asked_until_later(&t, 2), 500);
	assert_int_equal(asked_until_later(&later, 1), 1000);
	assert_int_equal(asked_until_later(&much_later, 1), 500 << 10);
}

TEST(who_has_files_that_fail_for_long_waits)
{
	const struct timespec second = {1, 100000000};
	struct turn_waits waits = {0};
	struct read_turn t = {.waits = &waits}, next = {.waits = &waits}, scan = {0};

	assert_int_equal(turn__ask(&t, 1), TURN_READ);
	assert_int_equal(turn__ask(&scan, 1), TURN_READ);
	assert_false(turn__count(&t, true));
	assert_int_equal(turn__ask(&t, 1), TURN_READ);
	nanosleep(&second, NULL);
	assert_false(turn__count(&t, true));
	assert_false(turn__count(&scan, true));
	assert_int_equal(turn__ask(&t, 1), TURN_WAITS);
	assert_int_equal(turn__ask(&next, 1), TURN_WAITS);
	assert_int_equal(turn__ask(&next, 2), TURN_READ);
	assert_int_equal(turn__ask(&scan, 1), TURN_READ);
	turn_waits__free(&waits);
}

TEST(nobody_waits_for_files_that_took_long_and_are_good)
{
	const struct timespec second = {1, 100000000};
	struct turn_waits waits = {0};
	struct read_turn t = {.waits = &waits};

	assert_int_equal(turn__ask(&t, 1), TURN_READ);
	nanosleep(&second, NULL);
	assert_false(turn__count(&t, false));
	assert_int_equal(turn__ask(&t, 1), TURN_READ);
	assert_int_equal(waits.n, 0);
	turn_waits__free(&waits);
}
