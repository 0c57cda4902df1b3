// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers as text: the bytes printf makes. */
#include "tests/unit/unit.h"
#include <float.h>
#include <inttypes.h>

#include "base/outbuf.h"

static struct outbuf o;
static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* What o holds, emptied. */
static const char *text(void)
{
	static char got[1024];

	assert_true(o.len < sizeof(got));
	memcpy(got, o.buf, o.len);
	got[o.len] = '\0';
	o.len = 0;
	return got;
}

static void check_f6(double v)
{
	char want[512];
	const char *got;

	outbuf__f6(&o, v);
	got = text();
	snprintf(want, sizeof(want), "%f", v);
	if (strcmp(got, want))
		fail_msg("%a: got %s, printf makes %s", v, got, want);
}

static void check_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	check_f6(v);
}

static int make(void **state)
{
	return outbuf__init(&o, open("/dev/null", O_WRONLY));
}

static int end(void **state)
{
	return outbuf__end(&o) + close(o.fd);
}

TEST(doubles_at_the_edges)
{
	static const double edges[] = {
		0.0,
		1.0,
		0.1,
		0.5,
		0.9999994999,
		0.9999995,
		0.9999995000001,
		0.99999949999999999,
		1e-6,
		5e-7,
		4.9999999999999e-7,
		5.0000000000001e-7,
		1.5e-6,
		2.5e-6,
		DBL_MIN,
		DBL_TRUE_MIN,
		DBL_MAX,
		DBL_EPSILON,
		1e15,
		1e16,
		1e17,
		1e19,
		1e20,
		1e22,
		1e300,
		9007199254740991.0,
		9007199254740992.0,
		9007199254740993.0,
		4503599627370495.5,
		4503599627370496.5,
		18446744073709551615.0,
		18446744073709549568.0,
		9223372036854775808.0,
		999999.9999995,
		1.0000005,
		123456789.9999995,
		NAN,
		INFINITY,
		46.5,
		2.675,
		1e9 + 0.5e-6,
		0x1p-7,
		0x1p-20,
		0x1p-21,
		0x1p-22,
		0x3p-21,
	};

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		check_f6(edges[i]);
		check_f6(-edges[i]);
		check_f6(nextafter(edges[i], INFINITY));
		check_f6(nextafter(edges[i], -INFINITY));
	}
}

/* Multiples of 2^-7: 15625 x 10^-6 / 2, so that every second one lies between two texts. */
TEST(halves_go_to_even)
{
	for (int i = 0; i < 4096; i++) {
		check_f6(i * 0x1p-7);
		check_f6(i * 0x1p-8);
		check_f6(1e6 + i * 0x1p-7);
		check_f6(-i * 0x1p-13);
		check_f6(1e9 + i * 0x1p-20);
	}
}

TEST(every_exponent)
{
	for (uint64_t e = 0; e < 2048; e++) {
		check_bits(e << 52);
		check_bits(e << 52 | ((UINT64_C(1) << 52) - 1));
		for (int i = 0; i < 20; i++)
			check_bits(e << 52 | draw() >> 12);
	}
}

TEST(random_bits)
{
	for (int i = 0; i < 300000; i++)
		check_bits(draw());
	/* The numbers have the sizes that measurements have. */
	for (int i = 0; i < 2000000; i++)
		check_bits((draw() % 80 + 990) << 52 | draw() >> 12 | draw() << 63);
	for (int i = 0; i < 300000; i++)
		check_f6((double)(int64_t)(draw() % 2000000000) / 100 - 1e7);
	for (int i = 0; i < 300000; i++)
		check_f6((double)(draw() >> 20) * 0x1p-20);
}

static void check_integer(uint64_t v)
{
	char want[32];

	outbuf__u64(&o, v);
	snprintf(want, sizeof(want), "%" PRIu64, v);
	assert_string_equal(text(), want);
	outbuf__i64(&o, (int64_t)v);
	snprintf(want, sizeof(want), "%" PRId64, (int64_t)v);
	assert_string_equal(text(), want);
}

TEST(integers)
{
	uint64_t power = 1;

	for (int i = 0; i < 20; i++, power *= 10) {
		check_integer(power - 1);
		check_integer(power);
		check_integer(power + 1);
		check_integer(-power);
	}
	for (int i = 0; i < 64; i++)
		for (int k = 0; k < 1000; k++)
			check_integer(draw() >> i);
	check_integer(UINT64_MAX);
	check_integer((uint64_t)INT64_MIN);
	for (uint64_t v = 0; v < 11000; v++)
		check_integer(v);
}

/* More than the buffer holds, through a pipe's small pieces, equals what printf writes. */
TEST(order_is_kept_over_many_buffers)
{
	char path[] = "/tmp/jobprof-outbuf.XXXXXX", got[64], want[64];
	int fd = mkstemp(path);
	static char longer[2000];
	struct outbuf out;
	FILE *f;

	assert_true(fd >= 0);
	memset(longer, 'x', sizeof(longer) - 1);
	assert_int_equal(outbuf__init(&out, fd), 0);
	for (int i = 0; i < 200000; i++) {
		outbuf__u64(&out, (uint64_t)i);
		outbuf__char(&out, ',');
		outbuf__f6(&out, i / 7.0);
		outbuf__str(&out, "\n");
	}
	outbuf__str(&out, longer);
	assert_int_equal(outbuf__end(&out), 0);
	f = fdopen(fd, "r");
	rewind(f);
	for (int i = 0; i < 200000; i++) {
		assert_non_null(fgets(got, sizeof(got), f));
		snprintf(want, sizeof(want), "%d,%f\n", i, i / 7.0);
		assert_string_equal(got, want);
	}
	memset(longer, 0, 10);
	assert_int_equal(fread(longer, 1, sizeof(longer), f), sizeof(longer) - 1);
	assert_true(longer[0] == 'x' && longer[1998] == 'x');
	fclose(f);
	unlink(path);
}

/* Pieces of every size, below and above what is written without being copied. */
TEST(pieces_of_every_size)
{
	enum { PIECES = 24 };
	const size_t all = (size_t)1 << PIECES;
	char *text = malloc(all), *got = malloc(all);
	char path[] = "/tmp/jobprof-outbuf.XXXXXX";
	int fd = mkstemp(path);
	struct outbuf out;

	assert_true(fd >= 0 && text && got);
	unlink(path);
	for (size_t i = 0; i < all; i++)
		text[i] = (char)('a' + i * 7919 % 26);
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		size_t sent = 0;

		assert_int_equal(outbuf__init(&out, in_memory ? -1 : fd), 0);
		for (size_t n = 1; sent + n <= all; sent += n, n *= 2)
			outbuf__mem(&out, text + sent, n);
		if (in_memory) {
			assert_int_equal(out.len, sent);
			assert_memory_equal(out.buf, text, sent);
		}
		assert_int_equal(outbuf__end(&out), 0);
		if (in_memory)
			continue;
		assert_int_equal(pread(fd, got, all, 0), sent);
		assert_memory_equal(got, text, sent);
	}
	close(fd);
	free(text);
	free(got);
}

TEST(the_first_failure_stays)
{
	struct outbuf out;
	int fd = open("/dev/full", O_WRONLY);

	assert_int_equal(outbuf__init(&out, fd), 0);
	for (int i = 0; i < 1000000; i++)
		outbuf__f6(&out, i);
	assert_int_equal(out.err, -ENOSPC);
	assert_int_equal(outbuf__end(&out), -ENOSPC);
	outbuf__f6(&out, 1);
	outbuf__str(&out, "x");
	assert_int_equal(out.err, -ENOSPC);
	close(fd);
}

static struct unit_fixture fixture = {.setup_all = make, .teardown_all = end};
