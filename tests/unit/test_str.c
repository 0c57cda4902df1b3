// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers, names, clocks and the log line. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

static const char *const not_numbers[] = {"", " 1", "1 ", "+1", "-1", "0x1", "1e3", "1\n", "one"};

TEST(integers_are_whole_strings_in_range)
{
	uint64_t v = 7;
	uint32_t w = 7;

	assert_int_equal(parse_u64("0", &v), 0);
	assert_true(v == 0);
	assert_int_equal(parse_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u64("18446744073709551616", &v), -ERANGE);
	assert_int_equal(parse_u64("99999999999999999999999", &v), -ERANGE);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u32("4294967295", &w), 0);
	assert_true(w == UINT32_MAX);
	assert_int_equal(parse_u32("4294967296", &w), -ERANGE);
	for (size_t i = 0; i < sizeof(not_numbers) / sizeof(not_numbers[0]); i++) {
		assert_int_equal(parse_u64(not_numbers[i], &v), -EINVAL);
		assert_int_equal(parse_u32(not_numbers[i], &w), -EINVAL);
	}
}

TEST(doubles_are_digits_and_a_point)
{
	char huge[400];
	double d = 7;

	assert_int_equal(parse_double("0.1", &d), 0);
	assert_true(d == 0.1);
	assert_int_equal(parse_double("12.75", &d), 0);
	assert_true(d == 12.75);
	assert_int_equal(parse_double("5.", &d), 0);
	assert_true(d == 5);
	assert_int_equal(parse_double(".5", &d), 0);
	assert_true(d == 0.5);
	for (size_t i = 0; i < sizeof(not_numbers) / sizeof(not_numbers[0]); i++)
		assert_int_equal(parse_double(not_numbers[i], &d), -EINVAL);
	assert_int_equal(parse_double(".", &d), -EINVAL);
	assert_int_equal(parse_double("1.2.3", &d), -EINVAL);
	assert_int_equal(parse_double("inf", &d), -EINVAL);
	assert_int_equal(parse_double("nan", &d), -EINVAL);
	memset(huge, '9', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_int_equal(parse_double(huge, &d), -ERANGE);
	assert_true(d == 0.5);
}

TEST(glob_has_one_star)
{
	assert_true(str__glob1("step_*", "step_0"));
	assert_true(str__glob1("step_*", "step_"));
	assert_false(str__glob1("step_*", "step"));
	assert_true(str__glob1("*_x.scope", "n1_x.scope"));
	assert_false(str__glob1("ab*ba", "aba"));
	assert_true(str__glob1("ab*ba", "abba"));
	assert_true(str__glob1("*", ""));
	assert_true(str__glob1("user", "user"));
	assert_false(str__glob1("user", "users"));
}

TEST(nearest_word_is_what_was_meant)
{
	static const char *const list[] = {"StateDir", "PinDir", "MaxSlots", "PublishInterval"};
	char longer[200];

	assert_string_equal(str__nearest("maxslot", list, 4), "MaxSlots");
	assert_string_equal(str__nearest("StateDri", list, 4), "StateDir");
	assert_string_equal(str__nearest("PublishIntervall", list, 4), "PublishInterval");
	assert_null(str__nearest("Colour", list, 4));
	assert_null(str__nearest("", list, 4));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(str__nearest(longer, list, 4));
}

TEST(unsafe_names_are_refused)
{
	char name[130];

	assert_true(str__safe_name("n1"));
	assert_true(str__safe_name(".hidden"));
	assert_true(str__safe_name("..."));
	assert_false(str__safe_name(""));
	assert_false(str__safe_name("."));
	assert_false(str__safe_name(".."));
	assert_false(str__safe_name("a/b"));
	assert_false(str__safe_name("a\nb"));
	assert_false(str__safe_name("a\x7f"));
	memset(name, 'x', sizeof(name));
	name[128] = '\0';
	assert_true(str__safe_name(name));
	name[128] = 'x';
	name[129] = '\0';
	assert_false(str__safe_name(name));
}

TEST(copy_fits_or_is_empty)
{
	char buf[4] = "zzz";

	assert_int_equal(str__copy(buf, sizeof(buf), "abc"), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(str__copy(buf, sizeof(buf), "abcd"), -E2BIG);
	assert_string_equal(buf, "");
}

static int file_with(const char *text, char path[32])
{
	int fd;

	strcpy(path, "/tmp/jp-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static int number_in(const char *text, uint64_t *v)
{
	char path[32];
	int ret, fd = file_with(text, path);

	ret = read_file_u64(AT_FDCWD, path, v);
	close(fd);
	unlink(path);
	return ret;
}

TEST(small_files_are_read_whole)
{
	char path[32], buf[8];
	int fd = file_with("1234567", path);
	uint64_t v = 0;

	assert_int_equal(read_file(AT_FDCWD, path, buf, 8), 7);
	assert_string_equal(buf, "1234567");
	assert_int_equal(read_file(AT_FDCWD, path, buf, 7), -EFBIG);
	close(fd);
	unlink(path);
	assert_int_equal(read_file(AT_FDCWD, path, buf, 8), -ENOENT);
	assert_int_equal(number_in("42\n", &v), 0);
	assert_true(v == 42);
	assert_int_equal(number_in("max\n", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(number_in("", &v), -EINVAL);
	assert_int_equal(number_in("1 2\n", &v), -EINVAL);
}

TEST(aligned_instants_follow_the_wall_clock)
{
	const uint64_t s = NSEC_PER_SEC;

	/* The step began at boot 100 s, when it was 1000.25 s. */
	assert_true(clock__next_aligned(100 * s, 100 * s, 1000 * s + s / 4, s) ==
		    100 * s + 3 * (s / 4));
	/* On an instant, the next one counts. */
	assert_true(clock__next_aligned(105 * s, 100 * s, 1000 * s, 5 * s) == 110 * s);
	assert_true(clock__next_aligned(90 * s, 100 * s, 1000 * s, 4 * s) == 92 * s);
	assert_true(clock__next_aligned(100 * s, 100 * s, 1000 * s, s / 10) == 100 * s + s / 10);
	assert_true(clock__next_aligned(5, 3, 4, 0) == UINT64_MAX);
}

TEST(a_state_is_as_old_as_its_beginning)
{
	uint64_t since = 0;

	clock__since(&since, true, 5);
	clock__since(&since, true, 7);
	assert_true(since == 5);
	clock__since(&since, false, 8);
	assert_true(since == 0);
	clock__since(&since, true, 9);
	assert_true(since == 9);
}

TEST(clocks_advance)
{
	uint64_t a = clock__boot_ns();

	assert_true(clock__boot_ns() >= a);
	assert_true(clock__boot_ns() >= clock__mono_ns() - NSEC_PER_SEC);
	assert_true(clock__real_ns() > 1500000000ull * NSEC_PER_SEC);
}

/* What one call of the logger writes to stderr. */
static void logged(const char *text, char *out, size_t size)
{
	int saved = dup(STDERR_FILENO), fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	dup2(fds[1], STDERR_FILENO);
	log_error("%s", text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = read(fds[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	close(fds[1]);
}

TEST(log_lines_are_one_line)
{
	char out[4096], big[4000];

	log__init("test", LOGL_INFO);
	logged("plain text", out, sizeof(out));
	assert_string_equal(out, "test: plain text\n");
	logged("a\nb\x1b[31m\xc2\x9b", out, sizeof(out));
	assert_string_equal(out, "test: a\\x0ab\\x1b[31m\\xc2\\x9b\n");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	logged(big, out, sizeof(out));
	assert_string_equal(strchr(out, '\n'), "\n");
	memset(big, '\n', sizeof(big) - 1);
	logged(big, out, sizeof(out));
	assert_string_equal(out + strlen(out) - 4, "...\n");
	errno = EXDEV;
	logged("x", out, sizeof(out));
	assert_int_equal(errno, EXDEV);
}

TEST(the_last_error_is_the_last_one_alone)
{
	char out[4096], big[400];

	log__init("test", LOGL_INFO);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	logged(big, out, sizeof(out));
	assert_string_equal(log__errors()->text + strlen(log__errors()->text) - 4, "x...");
	logged("short", out, sizeof(out));
	assert_string_equal(log__errors()->text, "short");
	logged("", out, sizeof(out));
	assert_string_equal(log__errors()->text, "");
}

TEST(lines_of_a_service_begin_with_the_time)
{
	int year, month, day, hour, minute, second, end = 0;
	char out[256];

	log__init("test", LOGL_INFO);
	log__timed();
	logged("it begins", out, sizeof(out));
	assert_int_equal(sscanf(out, "%4d-%2d-%2d %2d:%2d:%2d test: it begins%n", &year, &month,
				&day, &hour, &minute, &second, &end),
			 6);
	assert_string_equal(out + end, "\n");
	log__init("test", LOGL_INFO); /* a program that it starts */
	logged("x", out, sizeof(out));
	assert_string_equal(out, "test: x\n");
}

TEST(journal_lines_carry_their_priority)
{
	char out[256], env[64], path[] = "/tmp/jp-test-XXXXXX";
	int fd = mkstemp(path), saved = dup(STDERR_FILENO);
	struct stat st;
	ssize_t n;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(env, sizeof(env), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", env, 1);
	dup2(fd, STDERR_FILENO);
	log__init("test", LOGL_INFO);
	log__timed(); /* the journal has times of its own */
	log_warn("careful");
	log_debug("not at this level");
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fd, out, sizeof(out) - 1, 0);
	out[n > 0 ? n : 0] = '\0';
	assert_string_equal(out, "<4>test: careful\n");
	/* The same variable, another stderr. */
	log__init("test", LOGL_INFO);
	logged("x", out, sizeof(out));
	assert_string_equal(out, "test: x\n");
	unsetenv("JOURNAL_STREAM");
	close(fd);
	unlink(path);
}

TEST(floods_are_counted)
{
	struct log_limit l = {0};

	assert_true(log_every(&l, 60));
	assert_false(log_every(&l, 60));
	assert_false(log_every(&l, 60));
	l.next_ns = 0;
	assert_true(log_every(&l, 60));
	assert_true(l.skipped == 2);
	l.next_ns = 0;
	assert_true(log_every(&l, 60));
	assert_true(l.skipped == 0);
}
