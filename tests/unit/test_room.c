// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays that grow: what is in them stays, they grow rarely, and stay as they are where they
 * cannot. */

#include "tests/unit/unit.h"
#include "base/room.h"

TEST(elements_stay_and_moves_are_rare)
{
	uint64_t *v = NULL;
	size_t room = 0, before = 0, grown = 0;

	for (size_t n = 0; n < 100000; n++) {
		assert_int_equal(room__make(&v, &room, n + 1, sizeof(*v)), 0);
		assert_true(room > n);
		grown += room != before;
		before = room;
		v[n] = n * n;
	}
	for (size_t n = 0; n < 100000; n++)
		assert_true(v[n] == n * n);
	assert_true(grown < 20);
	free(v);
}

TEST(as_many_as_are_asked_for)
{
	char *v = NULL;
	size_t room = 0;

	assert_int_equal(room__make(&v, &room, 0, 1), 0);
	assert_null(v);
	assert_int_equal(room__make(&v, &room, 1000, 1), 0);
	assert_int_equal(room, 1000);
	assert_int_equal(room__make(&v, &room, 5000, 1), 0);
	assert_int_equal(room, 5000);
	v[4999] = 1;
	free(v);
}

TEST(too_large_an_array_is_left_as_it_was)
{
	uint64_t *v = NULL;
	size_t room = 0;

	assert_int_equal(room__make(&v, &room, 3, sizeof(*v)), 0);
	v[2] = 7;
	assert_int_equal(room__make(&v, &room, SIZE_MAX / 4, sizeof(*v)), -ENOMEM);
	assert_true(v[2] == 7 && room == 3);
	free(v);
}

TEST(an_array_without_a_room_grows_by_its_number)
{
	uint64_t *v = NULL;
	size_t n = 0;

	for (size_t more = 1; n < 100000; more = more % 7 + 1) {
		assert_int_equal(room__grow(&v, n, more, sizeof(*v)), 0);
		for (size_t i = 0; i < more; i++, n++)
			v[n] = n * n;
	}
	for (size_t i = 0; i < n; i++)
		assert_true(v[i] == i * i);
	assert_int_equal(room__grow(&v, n, SIZE_MAX / 2, sizeof(*v)), -ENOMEM);
	assert_int_equal(room__grow(&v, n, SIZE_MAX / 5, sizeof(*v)), -ENOMEM);
	assert_true(v[n - 1] == (n - 1) * (n - 1));
	free(v);
}
