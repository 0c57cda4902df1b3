/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "synth.h"

static char dir[] = "/tmp/test_journal.XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/j", dir);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static int no_file(void **state)
{
	unlink(path);
	return 0;
}

static const struct column two[] = {
	{.name = "ElapsedTime", .type = COL_U64, .unit = "s", .kind = COL_TIME},
	{.name = "X", .type = COL_F64, .unit = "", .kind = COL_DELTA},
};
static const struct column *const two_ptr[] = {&two[0], &two[1]};

/* A frame of declarations, then n frames of one row {i, i + 0.5}. */
static struct journal *small(unsigned n)
{
	struct journal *j;

	assert_int_equal(journal__create(&j, path), 0);
	assert_int_equal(journal__attr_str(j, "Node Name", "n1"), 0);
	assert_int_equal(journal__series(j, 3, "S", true, two_ptr, 2), 0);
	assert_int_equal(journal__table(j, 7, 3, "0"), 0);
	assert_int_equal(journal__commit(j), 0);
	for (unsigned i = 0; i < n; i++) {
		union cell c[2] = {{.u = i}, {.f = i + 0.5}};

		assert_int_equal(journal__row(j, 7, c, 2), 0);
		assert_int_equal(journal__commit(j), 0);
	}
	return j;
}

/* Rows until the end, checked against what small() wrote; -1 when the file is no journal. */
static int count_rows(uint64_t *torn)
{
	int fd = open(path, O_RDONLY), n = 0, err;
	struct journal_reader *r;
	struct journal_record rec;

	assert_true(fd >= 0);
	err = journal_reader__open(&r, fd);
	if (err) {
		assert_int_equal(err, -EBADMSG);
		close(fd);
		return -1;
	}
	while ((err = journal_reader__next(r, &rec)) > 0) {
		if (rec.type != J_ROW)
			continue;
		assert_int_equal(rec.id, 7);
		assert_int_equal(rec.ncols, 2);
		assert_int_equal(rec.cells[0].u, n);
		assert_true(rec.cells[1].f == n + 0.5);
		n++;
	}
	assert_int_equal(err, 0);
	assert_int_equal(journal_reader__next(r, &rec), 0);
	if (torn)
		*torn = journal_reader__torn(r);
	journal_reader__free(r);
	close(fd);
	return n;
}

static void next(struct journal_reader *r, struct journal_record *rec, enum journal_type type)
{
	assert_int_equal(journal_reader__next(r, rec), 1);
	assert_int_equal(rec->type, type);
}

static void every_kind_of_record_comes_back(void **state)
{
	const union cell row[2] = {{.u = UINT64_MAX}, {.f = -0.25}};
	struct journal_record rec;
	struct journal_reader *r;
	struct journal *j;

	assert_int_equal(journal__create(&j, path), 0);
	journal__attr_i32(j, "i32", -5);
	journal__attr_i64(j, "i64", INT64_MIN);
	journal__attr_f64(j, "f64", 1.5);
	journal__attr_str(j, "str", "a b\xff");
	journal__meta(j, "dir", "/x");
	journal__series(j, 3, "S", true, two_ptr, 2);
	journal__table(j, 7, 3, "12");
	journal__row(j, 7, row, 2);
	journal__state(j, "\0\1\2", 3);
	journal__end(j);
	assert_int_equal(journal__commit(j), 0);

	assert_int_equal(journal_reader__open(&r, journal__fd(j)), 0);
	next(r, &rec, J_ATTR);
	assert_int_equal(rec.attr_type, ATTR_I32);
	assert_int_equal((int64_t)rec.value.u, -5);
	next(r, &rec, J_ATTR);
	assert_true((int64_t)rec.value.u == INT64_MIN);
	next(r, &rec, J_ATTR);
	assert_true(rec.value.f == 1.5);
	next(r, &rec, J_ATTR);
	assert_string_equal(rec.name, "str");
	assert_string_equal(rec.str, "a b\xef\xbf\xbd"); /* what is not UTF-8 is replaced */
	next(r, &rec, J_META);
	assert_string_equal(rec.name, "dir");
	assert_string_equal(rec.str, "/x");
	next(r, &rec, J_SERIES);
	assert_int_equal(rec.id, 3);
	assert_true(rec.grouped);
	assert_int_equal(rec.ncols, 2);
	assert_string_equal(rec.cols[0].name, "ElapsedTime");
	assert_string_equal(rec.cols[0].unit, "s");
	assert_int_equal(rec.cols[1].type, COL_F64);
	assert_int_equal(rec.cols[1].kind, COL_DELTA);
	next(r, &rec, J_TABLE);
	assert_int_equal(rec.id, 7);
	assert_int_equal(rec.series, 3);
	assert_string_equal(rec.name, "12");
	next(r, &rec, J_ROW);
	assert_memory_equal(rec.cells, row, sizeof(row));
	next(r, &rec, J_STATE);
	assert_int_equal(rec.blob_len, 3);
	assert_memory_equal(rec.blob, "\0\1\2", 3);
	next(r, &rec, J_END);
	assert_int_equal(journal_reader__next(r, &rec), 0);
	journal_reader__free(r);
	journal__free(j);
}

static void what_is_too_long_is_refused(void **state)
{
	char name[JOURNAL_NAME_MAX + 2];
	char *str = malloc(JOURNAL_STR_MAX + 2), *blob = calloc(1, JOURNAL_FRAME_MAX);
	struct journal *j = small(0);

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	memset(str, 'x', JOURNAL_STR_MAX + 1);
	str[JOURNAL_STR_MAX + 1] = 0;
	assert_int_equal(journal__attr_str(j, name, "v"), -EINVAL);
	assert_int_equal(journal__attr_str(j, "", "v"), -EINVAL);
	assert_int_equal(journal__attr_str(j, "n", str), -EINVAL);
	assert_int_equal(journal__attr_str(j, "n", str + 1), 0);
	assert_int_equal(journal__series(j, 0, "S", true, two_ptr, 0), -EINVAL);
	assert_int_equal(journal__series(j, 0, "S", true, two_ptr, JOURNAL_COLS_MAX + 1), -EINVAL);
	assert_int_equal(journal__series(j, JOURNAL_SERIES_MAX, "S", true, two_ptr, 2), -EINVAL);
	assert_int_equal(journal__table(j, JOURNAL_TABLES_MAX, 0, "t"), -EINVAL);
	assert_int_equal(journal__row(j, 0, NULL, 0), -EINVAL);
	assert_int_equal(journal__state(j, blob, JOURNAL_FRAME_MAX), -EMSGSIZE);
	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(count_rows(NULL), 0);
	journal__free(j);
	free(blob);
	free(str);
}

static void a_commit_of_nothing_writes_nothing(void **state)
{
	struct journal *j = small(1);
	uint64_t size = journal__size(j);
	struct stat st;

	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(journal__size(j), size);
	assert_int_equal(fstat(journal__fd(j), &st), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(st.st_mode & 0777, 0600);
	journal__free(j);
}

static void records_not_committed_are_lost(void **state)
{
	union cell c[2] = {{0}};
	struct journal *j = small(2);

	journal__row(j, 7, c, 2);
	journal__free(j);
	assert_int_equal(count_rows(NULL), 2);
}

/* Killed before the journal had its name, and before or after that. */
static void what_a_killed_maker_left_is_in_nobodys_way(void **state)
{
	char unborn[sizeof(path) + 8];
	struct journal *j;

	snprintf(unborn, sizeof(unborn), "%s" JOURNAL_UNBORN, path);
	for (int linked = 0; linked < 2; linked++) {
		unlink(path);
		close(open(unborn, O_WRONLY | O_CREAT | O_EXCL, 0600));
		if (linked)
			assert_int_equal(link(unborn, path), 0);
		assert_int_equal(journal__create(&j, path), linked ? -EEXIST : 0);
		assert_int_equal(access(unborn, F_OK), -1);
		if (!linked)
			journal__free(j);
	}
}

static void a_journal_has_one_owner(void **state)
{
	struct journal *j = small(1), *other;
	uint64_t cut;

	assert_int_equal(journal__create(&other, path), -EEXIST);
	assert_int_equal(journal__reopen(&other, path, &cut), -EWOULDBLOCK);
	journal__free(j);
	assert_int_equal(journal__reopen(&other, path, &cut), 0);
	assert_int_equal(cut, 0);
	journal__free(other);
	journal__free(NULL);
	assert_int_equal(journal__reopen(&other, "/nonexistent/j", &cut), -ENOENT);
}

static void torn_at_every_byte_of_the_last_frame(void **state)
{
	struct journal *j = small(3);
	uint64_t before = journal__size(j), after, torn, cut;
	union cell c[2] = {{.u = 3}, {.f = 3.5}};

	journal__row(j, 7, c, 2);
	journal__state(j, "state", 5);
	assert_int_equal(journal__commit(j), 0);
	after = journal__size(j);
	journal__free(j);
	assert_int_equal(count_rows(&torn), 4);
	assert_int_equal(torn, 0);
	for (uint64_t size = after - 1; size >= before; size--) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(count_rows(&torn), 3);
		assert_int_equal(torn, size - before);
	}

	/* Each way of being torn is mended, and the journal goes on. */
	for (uint64_t size = before; size < after; size++) {
		assert_int_equal(truncate(path, before), 0);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		journal__row(j, 7, c, 2);
		journal__state(j, "state", 5);
		assert_int_equal(journal__commit(j), 0);
		journal__free(j);
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		assert_int_equal(cut, size - before);
		assert_int_equal(journal__size(j), before);
		journal__row(j, 7, c, 2);
		assert_int_equal(journal__commit(j), 0);
		journal__free(j);
		assert_int_equal(count_rows(&torn), 4);
		assert_int_equal(torn, 0);
	}
}

static void a_header_that_never_got_out_is_made_again(void **state)
{
	for (unsigned size = 0; size < 16; size++) {
		struct journal *j = small(1);
		uint64_t cut;

		journal__free(j);
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(count_rows(NULL), -1);
		assert_int_equal(journal__reopen(&j, path, &cut), 0);
		assert_int_equal(cut, size);
		journal__free(j);
		assert_int_equal(count_rows(NULL), 0);
		unlink(path);
	}
}

static void rows_of_a_torn_end_are_counted(void **state)
{
	struct journal *j = small(1);
	struct journal_record rec;
	struct journal_reader *r;
	union cell c[2] = {{0}};
	int fd;

	for (int i = 0; i < 10; i++)
		journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(truncate(path, journal__size(j) - 1), 0);
	journal__free(j);
	fd = open(path, O_RDONLY);
	assert_int_equal(journal_reader__open(&r, fd), 0);
	while (journal_reader__next(r, &rec) > 0)
		;
	assert_int_equal(journal_reader__torn_rows(r), 10);
	journal_reader__free(r);
	close(fd);
}

static uint8_t *slurp(size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	fstat(fd, &st);
	*len = st.st_size;
	p = malloc(*len);
	assert_int_equal(read(fd, p, *len), *len);
	close(fd);
	return p;
}

static void spill(const uint8_t *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, p, len), len);
	close(fd);
}

static void a_flipped_byte_ends_the_journal_before_its_frame(void **state)
{
	struct journal *j = small(4);
	uint8_t *p;
	size_t len;

	journal__free(j);
	p = slurp(&len);
	for (size_t at = 0; at < len; at++) {
		int n;

		p[at] ^= 0x41;
		spill(p, len);
		n = count_rows(NULL);
		assert_true(n < 4);
		assert_int_equal(n < 0, at < 16);
		p[at] ^= 0x41;
	}
	free(p);
}

/* With a good crc it is the parser that has to hold. */
static void lies_with_a_good_checksum_are_survived(void **state)
{
	struct synth s = {.node = "n1", .tasks = 2, .rows = 1, .start_ns = 1, .end = true};
	uint8_t *p;
	size_t len;

	synth_make(path, &s);
	p = slurp(&len);
	srandom(1);
	for (int i = 0; i < 2000; i++) {
		uint32_t flen = *(uint32_t *)(p + 16) & 0x7fffffff, *crc = (uint32_t *)(p + 20);
		bool packed = *(uint32_t *)(p + 16) >> 31;
		uint32_t was = *crc;
		size_t at = 24 + random() % flen, n = 1 + random() % 4;
		uint8_t old[4];
		int fd;
		struct journal_reader *r;
		struct journal_record rec;

		if (at + n > 24 + flen)
			n = 1;
		memcpy(old, p + at, n);
		for (size_t k = 0; k < n; k++)
			p[at + k] = random() % 3 ? random() : 0xff;
		*crc = crc32(0, p + 24, flen) ^ (packed ? ~0u : 0);
		spill(p, len);
		fd = open(path, O_RDONLY);
		assert_int_equal(journal_reader__open(&r, fd), 0);
		while (journal_reader__next(r, &rec) > 0)
			if (rec.name)
				assert_true(strlen(rec.name) <= JOURNAL_NAME_MAX);
		journal_reader__free(r);
		close(fd);
		memcpy(p + at, old, n);
		*crc = was;
	}
	free(p);
}

static void a_hostile_length_costs_no_memory(void **state)
{
	struct journal *j = small(1);
	uint32_t lie[2] = {JOURNAL_FRAME_MAX, 0};
	uint64_t torn;

	assert_int_equal(pwrite(journal__fd(j), lie, 8, journal__size(j)), 8);
	journal__free(j);
	assert_int_equal(count_rows(&torn), 1);
	assert_int_equal(torn, 8);
}

/* What most frames look like: wide rows, most of whose cells are 0. */
static void zeros_cost_a_bit_each(void **state)
{
	struct column cols[100];
	const struct column *ptr[100];
	struct journal *j = small(1);
	struct journal_record rec;
	struct journal_reader *r;
	union cell c[100] = {};
	uint64_t before = journal__size(j);
	int i, n;

	for (i = 0; i < 100; i++) {
		cols[i] = (struct column){.name = "c", .unit = ""};
		ptr[i] = &cols[i];
	}
	journal__series(j, 9, "Wide", false, ptr, 100);
	journal__table(j, 9, 9, "Wide");
	assert_int_equal(journal__commit(j), 0);
	before = journal__size(j);
	for (n = 0; n < 1000; n++) {
		c[n % 100].u = n + 1;
		journal__row(j, 9, c, 100);
		c[n % 100].u = 0;
	}
	assert_int_equal(journal__commit(j), 0);
	/* per row two words of headers, one cell, and a bit for each of 102 */
	assert_in_range(journal__size(j) - before, 1000 * 24, 1000 * (24 + 13) + 64);
	assert_int_equal(journal_reader__open(&r, journal__fd(j)), 0);
	for (n = 0; journal_reader__next(r, &rec) > 0;) {
		if (rec.type != J_ROW || rec.id != 9)
			continue;
		for (i = 0; i < 100; i++)
			assert_int_equal(rec.cells[i].u, i == n % 100 ? n + 1 : 0);
		n++;
	}
	assert_int_equal(n, 1000);
	assert_int_equal(journal_reader__torn(r), 0);
	journal_reader__free(r);
	journal__free(j);
}

/* A frame without zeros is written as it is. */
static void what_does_not_pack_is_plain(void **state)
{
	struct journal *j = small(1);
	uint64_t before = journal__size(j);
	unsigned char noise[4096];

	memset(noise, 0xa5, sizeof(noise));
	journal__state(j, noise, sizeof(noise));
	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(journal__size(j) - before, 8 + 8 + sizeof(noise));
	journal__free(j);
	assert_int_equal(count_rows(NULL), 1);
}

/* Says of itself that it is 32 MiB of records, in maps of zeros or of nothing. */
static void a_hostile_packed_frame_costs_no_memory(void **state)
{
	uint64_t words[4] = {JOURNAL_FRAME_MAX, 0, ~0ull, 0};
	uint32_t head[2];
	uint64_t torn;

	for (unsigned n = 1; n <= 4; n++) {
		struct journal *j = small(1);
		uint64_t at = journal__size(j);

		head[0] = n * 8 | 0x80000000u;
		head[1] = ~crc32(0, (const Bytef *)words, n * 8);
		assert_int_equal(pwrite(journal__fd(j), head, 8, at), 8);
		assert_int_equal(pwrite(journal__fd(j), words, n * 8, at + 8), n * 8);
		journal__free(j);
		assert_int_equal(count_rows(&torn), 1);
		assert_int_equal(torn, 8 + n * 8);
		unlink(path);
	}
}

static void other_files_are_no_journals(void **state)
{
	spill((const uint8_t *)"JPJOURN1\2\0\0\0\4\3\2\1", 16);
	assert_int_equal(count_rows(NULL), -1);
	spill((const uint8_t *)"JPJOURN1\1\0\0\0\1\2\3\4", 16);
	assert_int_equal(count_rows(NULL), -1);
	spill((const uint8_t *)"hello", 5);
	assert_int_equal(count_rows(NULL), -1);
}

/* A file size limit stops a write in its middle, like a full disk. */
static void a_full_disk_loses_nothing(void **state)
{
	struct journal *j = small(2);
	uint64_t size = journal__size(j), torn;
	union cell c[2] = {{.u = 2}, {.f = 2.5}};
	struct rlimit old, tight;
	struct stat st;
	size_t mark;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = size + 20;
	setrlimit(RLIMIT_FSIZE, &tight);
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -ENOSPC);
	assert_int_equal(journal__size(j), size);
	fstat(journal__fd(j), &st);
	assert_int_equal(st.st_size, size);
	/* what the caller takes back is gone, and no more */
	mark = journal__mark(j);
	c[0].u = 99;
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -ENOSPC);
	journal__discard(j, mark);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(journal__commit(j), 0);
	journal__free(j);
	assert_int_equal(count_rows(&torn), 3);
	assert_int_equal(torn, 0);
}

static void a_journal_may_be_made_later(void **state)
{
	union cell c[2] = {{.u = 0}, {.f = 0.5}};
	char sub[sizeof(path) + 8], file[sizeof(path) + 16];
	struct journal *j;

	snprintf(sub, sizeof(sub), "%s.d", path);
	snprintf(file, sizeof(file), "%s/j", sub);
	assert_int_equal(journal__prepare(&j, file), 0);
	journal__series(j, 3, "S", true, two_ptr, 2);
	journal__table(j, 7, 3, "12");
	journal__row(j, 7, c, 2);
	assert_int_equal(journal__commit(j), -ENOENT);
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(journal__commit(j), 0);
	journal__free(j);
	assert_int_equal(rename(file, path), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(count_rows(NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_kind_of_record_comes_back, no_file),
		cmocka_unit_test_setup(what_is_too_long_is_refused, no_file),
		cmocka_unit_test_setup(a_commit_of_nothing_writes_nothing, no_file),
		cmocka_unit_test_setup(records_not_committed_are_lost, no_file),
		cmocka_unit_test_setup(what_a_killed_maker_left_is_in_nobodys_way, no_file),
		cmocka_unit_test_setup(a_journal_has_one_owner, no_file),
		cmocka_unit_test_setup(torn_at_every_byte_of_the_last_frame, no_file),
		cmocka_unit_test_setup(a_header_that_never_got_out_is_made_again, no_file),
		cmocka_unit_test_setup(rows_of_a_torn_end_are_counted, no_file),
		cmocka_unit_test_setup(a_flipped_byte_ends_the_journal_before_its_frame, no_file),
		cmocka_unit_test_setup(lies_with_a_good_checksum_are_survived, no_file),
		cmocka_unit_test_setup(a_hostile_length_costs_no_memory, no_file),
		cmocka_unit_test_setup(zeros_cost_a_bit_each, no_file),
		cmocka_unit_test_setup(what_does_not_pack_is_plain, no_file),
		cmocka_unit_test_setup(a_hostile_packed_frame_costs_no_memory, no_file),
		cmocka_unit_test_setup(other_files_are_no_journals, no_file),
		cmocka_unit_test_setup(a_full_disk_loses_nothing, no_file),
		cmocka_unit_test_setup(a_journal_may_be_made_later, no_file),
	};

	return cmocka_run_group_tests_name("journal", tests, make_dir, remove_dir);
}
