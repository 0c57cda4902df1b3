/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reductions: bins hold what they say, merges have no order, and bytes that are damaged are
 * refused.
 */

#include "tests/unit/unit.h"
#include <zlib.h>

#include "analysis/reduction/payload.h"

#define HEAD 24 /* bytes before the checksummed ones */

static bool is_in(struct log_bin b, double v)
{
	return v >= b.low && v <= b.high;
}

TEST(each_number_is_in_its_bin)
{
	srand48(1);
	for (int i = 0; i < 20000; i++) {
		double v = ldexp(drand48() - 0.5, (int)(lrand48() % 300) - 150);
		struct log_histogram h = {0};
		struct log_bin b;

		log_histogram__add(&h, i ? v : 0);
		b = log_histogram__quantile(&h, 0.5);
		assert_true(is_in(b, i ? v : 0));
		if (i && fabs(v) > 0x1p-40 && fabs(v) < 0x1p63)
			assert_true(b.high - b.low <= fmin(fabs(b.low), fabs(b.high)) * 0.25);
	}
}

TEST(bins_have_no_gap_between)
{
	for (unsigned i = 0; i + 1 < LOG_HISTOGRAM_BINS; i++)
		assert_true(log_histogram__bin(i).high == log_histogram__bin(i + 1).low);
}

/* Rows of one node; its columns come in an order of their own. */
static void fill(struct reduction *r, unsigned node, unsigned rows)
{
	static const char *const names[] = {"RSS", "CPUTime", "Residual"};
	char place[16];
	int columns[3];
	struct reduction_table t = {place, "0", columns, 3, 0};

	snprintf(place, sizeof(place), "7.0/n%u", node);
	t.unit = reduction__unit(place, "0");
	assert_int_equal(reduction__init(r, "Tasks", 0, 40), 0);
	assert_int_equal(reduction__place(r, place), 0);
	assert_int_equal(reduction__file(r, 99, 16, node, node == 3), 0);
	for (unsigned c = 0; c < 3; c++)
		columns[c] = reduction__column(r, names[(c + node) % 3], "s");
	for (unsigned i = 0; i < rows; i++) {
		double v[3];

		for (unsigned c = 0; c < 3; c++)
			v[c] = i % 7 ? ldexp((double)(node * 1000 + i), (int)(c + node) % 3) : NAN;
		assert_int_equal(reduction__row(r, &t, i, v), 0);
	}
	r->tables = r->processes = 1;
}

static void merge(struct reduction *to, unsigned node)
{
	struct reduction r;
	const char *place;

	fill(&r, node, 30 + 11 * node);
	assert_int_equal(reduction__merge(to, &r, &place), 0);
	assert_int_equal(reduction__merge(to, &r, &place), -EEXIST);
	reduction__free(&r);
}

static void all_nodes(struct reduction *r, const unsigned *order, unsigned n)
{
	fill(r, order[0], 30 + 11 * order[0]);
	for (unsigned i = 1; i < n; i++)
		merge(r, order[i]);
}

TEST(merges_have_no_order)
{
	static const unsigned orders[][6] = {
		{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0, 2, 4}, {2, 4, 0, 5, 1, 3}};
	struct message first = {0}, m = {0};

	for (unsigned i = 0; i < 3; i++) {
		struct reduction r;

		all_nodes(&r, orders[i], 6);
		assert_int_equal(payload__write(i ? &m : &first, &r), 0);
		assert_int_equal(r.nitems, 40);
		reduction__free(&r);
		if (i) {
			assert_int_equal(m.len, first.len);
			assert_memory_equal(m.p, first.p, m.len);
		}
	}
	message__free(&first);
	message__free(&m);
}

TEST(bytes_become_the_same_reduction)
{
	static const unsigned order[] = {0, 3, 4};
	struct message m = {0}, again = {0};
	struct reduction r, copy;
	struct reduction_coverage c;

	all_nodes(&r, order, 3);
	assert_int_equal(payload__write(&m, &r), 0);
	assert_int_equal(payload__read(&copy, m.p, m.len), 0);
	assert_int_equal(payload__write(&again, &copy), 0);
	assert_int_equal(m.len, again.len);
	assert_memory_equal(m.p, again.p, m.len);
	c = reduction__coverage(&copy);
	assert_int_equal(c.files, 16);
	assert_int_equal(c.read, 3);
	assert_int_equal(c.damaged, 1);
	assert_false(c.is_enough);
	reduction__free(&r);
	reduction__free(&copy);
	message__free(&m);
	message__free(&again);
}

TEST(a_second_pass_that_lacks_files_is_no_whole_one)
{
	static const unsigned first[] = {0, 3, 4}, second[] = {0, 3};
	struct reduction a, b;
	struct reduction_coverage c;

	all_nodes(&a, first, 3);
	all_nodes(&b, second, 2);
	reduction__cover(&a, &b);
	c = reduction__coverage(&a);
	assert_int_equal(c.read, 3);
	assert_int_equal(c.damaged, 2); /* one of the first pass, one that the second lacks */
	reduction__free(&a);
	reduction__free(&b);
}

/* As somebody would who knows the checksum. */
static void sign(uint8_t *p, size_t n)
{
	uint64_t length = n - HEAD;
	uint32_t crc = (uint32_t)crc32(0, p + HEAD, (uInt)length);

	memcpy(p + 12, &crc, sizeof(crc));
	memcpy(p + 16, &length, sizeof(length));
}

/* In memory of just that size, for the sanitizers. */
static int read_copy(const uint8_t *p, size_t n, bool is_signed)
{
	uint8_t *copy = malloc(n + !n);
	struct reduction r;
	int err;

	memcpy(copy, p, n);
	if (is_signed && n >= HEAD)
		sign(copy, n);
	err = payload__read(&r, copy, n);
	reduction__free(&r);
	free(copy);
	return err;
}

TEST(damaged_bytes_are_refused)
{
	static const unsigned order[] = {1, 3};
	struct message m = {0};
	struct reduction r;

	all_nodes(&r, order, 2);
	assert_int_equal(payload__write(&m, &r), 0);
	for (size_t n = 0; n < m.len; n += n < 200 ? 1 : 37) {
		assert_true(read_copy(m.p, n, false) < 0);
		assert_true(read_copy(m.p, n, true) < 0);
		m.p[n] ^= 4;
		assert_true(read_copy(m.p, m.len, false) < 0);
		m.p[n] ^= 4;
	}
	reduction__free(&r);
	message__free(&m);
}

/* They may be taken or not: nothing else happens. */
TEST(made_up_bytes_do_no_harm)
{
	static const uint64_t odd[] = {0, 1, 255, UINT32_MAX, UINT64_C(1) << 40, UINT64_MAX};
	static const unsigned order[] = {1, 3};
	struct message m = {0};
	struct reduction r;
	unsigned refused = 0;

	srand48(2);
	all_nodes(&r, order, 2);
	assert_int_equal(payload__write(&m, &r), 0);
	for (int i = 0; i < 4000; i++) {
		size_t at = HEAD + 8 * ((size_t)lrand48() % (i % 2 ? 10 : (m.len - HEAD) / 8));
		uint64_t was, made = i % 3 ? odd[lrand48() % 6] : (uint64_t)mrand48() << 20;

		memcpy(&was, m.p + at, 8);
		memcpy(m.p + at, &made, 8);
		refused += read_copy(m.p, m.len, true) < 0;
		memcpy(m.p + at, &was, 8);
	}
	assert_in_range(refused, 1500, 4000);
	reduction__free(&r);
	message__free(&m);
}
