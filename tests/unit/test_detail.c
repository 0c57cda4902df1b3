// SPDX-License-Identifier: GPL-2.0-only
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

TEST(a_step_leaves_as_much_as_it_has)
{
	struct detail greedy = {0}, other = {0}, third = {0};

	assert_int_equal(take_all(&greedy), DETAIL_MAX / 2);
	assert_int_equal(take_all(&other), DETAIL_MAX / 4);
	assert_int_equal(take_all(&greedy), 0);
	detail__give_all(&greedy);
	assert_int_equal(greedy.used, 0);
	assert_int_equal(take_all(&third), DETAIL_MAX / 4 + DETAIL_MAX / 8);
	detail__give(&other, PART);
	assert_int_equal(other.used, DETAIL_MAX / 4 - PART);
	detail__give_all(&other);
	detail__give_all(&third);
	assert_int_equal(take_all(&greedy), DETAIL_MAX / 2);
	detail__give_all(&greedy);
}

TEST(a_tree_without_room_has_no_more_frames)
{
	struct detail own = {0};
	struct call_tree *t = call_tree__new(1, &own);
	uint64_t frame = call_tree__frame(t, 0, "/bin/true", 1);

	assert_true(frame);
	take_all(&own);
	while (detail__take(&own, 1))
		;
	assert_int_equal(call_tree__frame(t, frame, "/bin/true", 2), 0);
	assert_null(call_tree__name(t, "/bin/false"));
	assert_int_equal(call_tree__frame(t, 0, "/bin/true", 1), frame);
	call_tree__free(t);
	detail__give_all(&own);
}

int main(void)
{
	return run_all_tests();
}
