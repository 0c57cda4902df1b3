// SPDX-License-Identifier: GPL-2.0-or-later
/* The last bursts of a step: their numbers, what is kept, and what is forgotten. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "client/protocol.h"
#include "daemon/record/step_bursts.h"

static void add(struct recent_bursts *r, unsigned n, uint64_t now_ns)
{
	recent_bursts__begin(r, now_ns);
	for (unsigned i = 0; i < n; i++) {
		/* the cell is the number that it must get */
		const union cell c = {.u = r->rows.put + 1};

		recent_bursts__add(r, 3, &c, 1);
	}
}

/* All with numbers above after: the first one, how many, and whether they follow each other. */
static unsigned count(const struct recent_bursts *r, uint64_t after, uint64_t *first)
{
	const union cell *row;
	unsigned n = 0;

	while ((row = recent_bursts__next(r, &after))) {
		if (!n++)
			*first = row[0].u;
		assert_int_equal(row[0].u, *first + n - 1);
		assert_int_equal(row[1].u, 3);
		assert_int_equal(row[2].u, row[0].u);
	}
	return n;
}

TEST(bursts_before_the_first_question_are_counted_and_not_kept)
{
	struct recent_bursts r = {0};
	uint64_t first = 0;

	add(&r, 5, 0);
	journaled__end_frame(&r.rows, FRAME_WRITTEN);
	assert_int_equal(recent_bursts__ask(&r, 1, 0), 0);
	assert_int_equal(count(&r, 0, &first), 0);
	add(&r, 2, 0);
	assert_int_equal(count(&r, 0, &first), 0); /* the frame is not written */
	journaled__end_frame(&r.rows, FRAME_WRITTEN);
	assert_int_equal(count(&r, 0, &first), 2);
	assert_int_equal(first, 6);
	assert_int_equal(count(&r, 6, &first), 1);
	assert_int_equal(count(&r, 7, &first), 0);
	recent_bursts__free(&r);
}

TEST(a_frame_that_is_not_written_is_put_again)
{
	struct recent_bursts r = {0};
	uint64_t first = 0;

	recent_bursts__ask(&r, 1, 0);
	add(&r, 1500, 0);
	journaled__end_frame(&r.rows, FRAME_DROPPED);
	add(&r, 1500, 0);
	journaled__end_frame(&r.rows, FRAME_WRITTEN);
	assert_int_equal(count(&r, 0, &first), 1500);
	assert_int_equal(first, 1);
	recent_bursts__free(&r);
}

TEST(the_last_ones_are_kept)
{
	struct recent_bursts r = {0};
	uint64_t first = 0;
	unsigned all = 0;

	recent_bursts__ask(&r, 1, 0);
	for (unsigned i = 0; i < 20; i++, all += 4000) {
		add(&r, 4000, 0);
		journaled__end_frame(&r.rows, FRAME_WRITTEN);
	}
	assert_int_equal(count(&r, 10, &first), JPC_BURSTS_KEPT);
	assert_int_equal(first, all - JPC_BURSTS_KEPT + 1);
	/* a number that is not there yet: of an earlier jobprofd */
	assert_int_equal(count(&r, UINT64_MAX, &first), JPC_BURSTS_KEPT);
	recent_bursts__free(&r);
}

TEST(steps_that_are_not_asked_for_make_room)
{
	struct recent_bursts r[JPC_BURSTS_STEPS + 1] = {0};

	for (unsigned i = 0; i < JPC_BURSTS_STEPS; i++)
		assert_int_equal(recent_bursts__ask(&r[i], 1, 0), 0);
	assert_int_equal(recent_bursts__ask(&r[JPC_BURSTS_STEPS], 1, 0), -EDQUOT);
	recent_bursts__begin(&r[0], 61 * NSEC_PER_SEC);
	assert_int_equal(recent_bursts__ask(&r[JPC_BURSTS_STEPS], 1, 61 * NSEC_PER_SEC), 0);
	for (unsigned i = 0; i <= JPC_BURSTS_STEPS; i++)
		recent_bursts__free(&r[i]);
}
