/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is committed to a journal is read back. */

#include "tests/unit/journal_file.h"

#define FRAMES 3000

static void next(struct journal_reader *r, struct journal_record *rec, enum journal_type type)
{
	assert_int_equal(journal_reader__next(r, rec), 1);
	assert_int_equal(rec->type, type);
}

static void attributes_come_back(struct journal_reader *r)
{
	struct journal_record rec;

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
}

TEST(every_kind_of_record_comes_back)
{
	const union cell row[2] = {{.u = UINT64_MAX}, {.f = -0.25}};
	struct journal_record rec;
	struct journal_reader *r;
	struct journal *j;
	int fd;

	assert_int_equal(journal__create(&j, path), 0);
	journal__attr_i32(j, "i32", -5);
	journal__attr_i64(j, "i64", INT64_MIN);
	journal__attr_f64(j, "f64", 1.5);
	journal__attr_str(j, "str", "a b\xff");
	journal__meta(j, "dir", "/x");
	journal__series(j, 3, "S", true, two_ptr, 2);
	journal__table(j, 7, 3, "12");
	journal__row(j, 7, row, 2);
	journal__table_attr_i32(j, 7, "n", -3);
	journal__table_attr_str(j, 7, "s", "\xff");
	journal__state(j, "\0\1\2", 3);
	journal__end(j);
	assert_int_equal(journal__commit(j), 0);

	r = open_reader(&fd);
	attributes_come_back(r);
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
	next(r, &rec, J_TABLE_ATTR);
	assert_int_equal(rec.id, 7);
	assert_string_equal(rec.name, "n");
	assert_int_equal((int64_t)rec.value.u, -3);
	next(r, &rec, J_TABLE_ATTR);
	assert_int_equal(rec.id, 7);
	assert_string_equal(rec.str, "\xef\xbf\xbd");
	next(r, &rec, J_STATE);
	assert_int_equal(rec.blob_len, 3);
	assert_memory_equal(rec.blob, "\0\1\2", 3);
	next(r, &rec, J_END);
	assert_int_equal(journal_reader__next(r, &rec), 0);
	journal_reader__free(r);
	close(fd);
	journal__free(j);
}

TEST(what_is_too_long_is_refused)
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

TEST(a_commit_of_nothing_writes_nothing)
{
	struct journal *j = small(1);
	uint64_t size = file_size();
	struct stat st;

	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(file_size(), size);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	journal__free(j);
}

TEST(records_not_committed_are_lost)
{
	union cell c[2] = {{0}};
	struct journal *j = small(2);

	journal__row(j, 7, c, 2);
	journal__free(j);
	assert_int_equal(count_rows(NULL), 2);
}

/* What most frames look like: wide rows, most of whose cells are 0. */
TEST(zeros_cost_a_bit_each)
{
	struct column cols[100];
	const struct column *ptr[100];
	struct journal *j = small(1);
	struct journal_record rec;
	struct journal_reader *r;
	union cell c[100] = {};
	uint64_t before;
	int i, n, fd;

	for (i = 0; i < 100; i++) {
		cols[i] = (struct column){.name = "c", .unit = ""};
		ptr[i] = &cols[i];
	}
	journal__series(j, 9, "Wide", false, ptr, 100);
	journal__table(j, 9, 9, "Wide");
	assert_int_equal(journal__commit(j), 0);
	before = file_size();
	for (n = 0; n < 1000; n++) {
		c[n % 100].u = n + 1;
		journal__row(j, 9, c, 100);
		c[n % 100].u = 0;
	}
	assert_int_equal(journal__commit(j), 0);
	/* per row two words of headers, one cell, and a bit for each of 102 */
	assert_in_range(file_size() - before, 1000 * 24, 1000 * (24 + 13) + 64);
	r = open_reader(&fd);
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
	close(fd);
	journal__free(j);
}

/* A frame without zeros is written as it is. */
TEST(what_does_not_pack_is_plain)
{
	struct journal *j = small(1);
	uint64_t before = file_size();
	unsigned char noise[4096];

	memset(noise, 0xa5, sizeof(noise));
	journal__state(j, noise, sizeof(noise));
	assert_int_equal(journal__commit(j), 0);
	assert_int_equal(file_size() - before, 8 + 8 + sizeof(noise));
	journal__free(j);
	assert_int_equal(count_rows(NULL), 1);
}

TEST(a_reader_finds_every_row_at_all_times)
{
	struct journal *j = small(0);
	uint64_t torn;

	for (int i = 0; i < FRAMES; i++) {
		put_row(j, i);
		if (i % 97 == 0) {
			rows_are(i + 1);
		}
	}
	journal__free(j);
	assert_int_equal(count_rows(&torn), FRAMES);
}

static struct unit_fixture fixture = {.setup = no_file};
