// SPDX-License-Identifier: GPL-2.0-or-later
/* The bound on memory for details of all steps, and what one step may have of it. */
#include "tests/unit/unit.h"
#include "daemon/record/call_tree.h"

#define PART (DETAIL_MAX / 1024)

static size_t take_all(struct detail *d)
{
	size_t had = d->used;

	while (detail__take(d, PART))
		;
	return d->used - had;
}

TEST(a_user_leaves_as_much_as_they_have)
{
	struct detail greedy, other, third;

	detail__begin(&greedy, 1000);
	detail__begin(&other, 1001);
	detail__begin(&third, 1002);
	assert_int_equal(take_all(&greedy), DETAIL_MAX / 2);
	assert_int_equal(take_all(&other), DETAIL_MAX / 4);
	assert_int_equal(take_all(&greedy), 0);
	detail__end(&greedy);
	assert_int_equal(take_all(&third), DETAIL_MAX / 4 + DETAIL_MAX / 8);
	detail__give(&other, PART);
	assert_int_equal(other.used, DETAIL_MAX / 4 - PART);
	detail__end(&other);
	detail__end(&third);
	detail__begin(&greedy, 1000);
	assert_int_equal(take_all(&greedy), DETAIL_MAX / 2);
	detail__end(&greedy);
}

TEST(steps_of_a_user_have_one_share)
{
	struct detail first, second, unknown[2], other;

	detail__begin(&first, 1000);
	detail__begin(&second, 1000);
	detail__begin(&other, 1001);
	assert_int_equal(take_all(&first), DETAIL_MAX / 2);
	assert_int_equal(take_all(&second), 0);
	assert_int_equal(take_all(&other), DETAIL_MAX / 4);
	detail__end(&first);
	assert_int_equal(take_all(&second), DETAIL_MAX / 4 + DETAIL_MAX / 8);
	detail__end(&second);
	detail__end(&other);
	detail__begin(&unknown[0], (uid_t)-1);
	detail__begin(&unknown[1], (uid_t)-1);
	assert_int_equal(take_all(&unknown[0]), DETAIL_MAX / 2);
	assert_int_equal(take_all(&unknown[1]), DETAIL_MAX / 4);
	detail__end(&unknown[0]);
	detail__end(&unknown[1]);
}

TEST(a_tree_without_room_has_no_more_frames)
{
	struct call_tree *t;
	struct detail own;
	uint64_t frame;

	detail__begin(&own, 1000);
	t = call_tree__new(1, &own);
	frame = call_tree__frame(t, 0, "/bin/true", 1);
	assert_true(frame);
	take_all(&own);
	while (detail__take(&own, 1))
		;
	assert_int_equal(call_tree__frame(t, frame, "/bin/true", 2), 0);
	assert_null(call_tree__name(t, "/bin/false"));
	assert_int_equal(call_tree__frame(t, 0, "/bin/true", 1), frame);
	call_tree__free(t);
	detail__end(&own);
}
