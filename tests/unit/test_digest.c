/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The digest of a run of bytes. */

#include "tests/unit/unit.h"
#include "hdf5/digest.h"

#define MOST 700 /* bytes: several rounds of every path */

static uint8_t bytes[MOST + 8];

static int fill(void **state)
{
	uint32_t random = 7;

	for (unsigned i = 0; i < sizeof(bytes); i++) {
		random = random * 1103515245 + 12345;
		bytes[i] = random >> 16;
	}
	return 0;
}

TEST(every_bit_counts)
{
	for (unsigned n = 1; n <= MOST; n += 1 + n / 20) {
		uint64_t sum = digest__add(1, bytes, n);

		for (unsigned i = 0; i < 8 * n; i++) {
			bytes[i / 8] ^= 1u << i % 8;
			assert_true(digest__add(1, bytes, n) != sum);
			bytes[i / 8] ^= 1u << i % 8;
		}
		assert_true(digest__add(1, bytes, n) == sum);
		assert_true(digest__add(2, bytes, n) != sum);
	}
}

TEST(the_length_counts)
{
	static const uint8_t zeros[MOST];
	uint64_t sums[MOST];

	for (unsigned n = 0; n < MOST; n++) {
		sums[n] = digest__add(1, zeros, n);
		for (unsigned i = 0; i < n; i++)
			assert_true(sums[i] != sums[n]);
	}
}

/* Words of eight bytes: any two of them. */
TEST(the_order_counts)
{
	const unsigned n = MOST / 8;
	uint64_t w[MOST / 8], sum, keep;

	memcpy(w, bytes, sizeof(w));
	sum = digest__add(1, w, sizeof(w));
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = i + 1; k < n; k++) {
			keep = w[i];
			w[i] = w[k];
			w[k] = keep;
			assert_true(digest__add(1, w, sizeof(w)) != sum);
			w[k] = w[i];
			w[i] = keep;
		}
	}
}

TEST(where_it_lies_does_not)
{
	uint8_t moved[MOST + 8];

	for (unsigned by = 1; by < 8; by++) {
		memcpy(moved + by, bytes, MOST);
		assert_true(digest__add(1, moved + by, MOST) == digest__add(1, bytes, MOST));
	}
}

static struct unit_fixture fixture = {.setup_all = fill};
