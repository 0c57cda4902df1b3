/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which columns totals have, in which order, and that their cells are in it, too. */

#include "tests/unit/unit.h"
#include "hdf5/h5util.h"
#include "hdf5/summary.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
/* clang-format off */
#define BUCKET(name_)	  {.name = (name_), .type = COL_F64, .kind = COL_DELTA, .how = HOW_BUCKET}
#define OTHER(name_, k)	  {.name = (name_), .type = COL_F64, .kind = COL_##k, .how = HOW_GIVEN}
/* clang-format on */

/* "Min_X Max_X:2 ...": what begins an array has its length behind it. */
static const char *names(const struct column *cols, unsigned ncols, bool grouped)
{
	static char out[1024];
	struct column *totals;
	unsigned n;
	size_t at = 0;

	assert_int_equal(summary__columns(cols, ncols, grouped, &totals, &n), 0);
	out[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s", i ? " " : "",
				       totals[i].name);
		if (totals[i].array)
			at += (size_t)snprintf(out + at, sizeof(out) - at, ":%u", totals[i].array);
	}
	summary__free_columns(totals, n);
	return out;
}

TEST(columns_come_one_after_the_other)
{
	static const struct column cols[] = {OTHER("T", TIME), OTHER("A", GAUGE), OTHER("B", DELTA),
					     OTHER("C", CUMULATIVE)};

	assert_string_equal(names(cols, N(cols), false),
			    "Min_A Max_A Avg_A Min_B Max_B Avg_B Sum_B Min_C Max_C Avg_C Last_C");
	assert_string_equal(names(cols, 2, true), "Task Min_A Max_A Avg_A");
	assert_string_equal(names(cols, 1, true), "Task");
	assert_string_equal(names(cols, 0, false), "");
}

TEST(buckets_are_taken_together)
{
	static const struct column cols[] = {OTHER("T", TIME),	BUCKET("B0"),	 BUCKET("B1"),
					     BUCKET("W0"),	BUCKET("W1"),	 BUCKET("W2"),
					     OTHER("A", GAUGE), OTHER("N", TIME)};

	assert_string_equal(names(cols, N(cols), true),
			    "Task Min_B0:2 Min_B1 Max_B0:2 Max_B1 Avg_B0:2 Avg_B1 Sum_B0:2 Sum_B1 "
			    "Min_W0:3 Min_W1 Min_W2 Max_W0:3 Max_W1 Max_W2 Avg_W0:3 Avg_W1 Avg_W2 "
			    "Sum_W0:3 Sum_W1 Sum_W2 Min_A Max_A Avg_A");
}

TEST(what_is_no_run_of_buckets_stays_by_itself)
{
	static const struct column one[] = {BUCKET("B0")};
	static const struct column from_1[] = {BUCKET("B1"), BUCKET("B2")};
	static const struct column gap[] = {BUCKET("B0"), BUCKET("B2")};
	static const struct column zeros[] = {BUCKET("B0"), BUCKET("B01")};
	static const struct column given[] = {OTHER("B0", DELTA), OTHER("B1", DELTA)};
	static const struct column kinds[] = {BUCKET("B0"), {.name = "B1", .how = HOW_BUCKET}};
	/* Min_B of the column and of the array would be two members of one name. */
	static const struct column named[] = {BUCKET("B0"), BUCKET("B1"), OTHER("B", GAUGE)};
	static const struct column empty[] = {BUCKET("")};

#define FOUR(x) "Min_" x " Max_" x " Avg_" x " Sum_" x
	assert_string_equal(names(one, N(one), false), FOUR("B0"));
	assert_string_equal(names(from_1, N(from_1), false), FOUR("B1") " " FOUR("B2"));
	assert_string_equal(names(gap, N(gap), false), FOUR("B0") " " FOUR("B2"));
	assert_string_equal(names(zeros, N(zeros), false), FOUR("B0") " " FOUR("B01"));
	assert_string_equal(names(given, N(given), false), FOUR("B0") " " FOUR("B1"));
	assert_string_equal(names(kinds, N(kinds), false), FOUR("B0"));
	assert_string_equal(names(named, N(named), false),
			    FOUR("B0") " " FOUR("B1") " Min_B Max_B Avg_B");
	assert_string_equal(names(empty, N(empty), false), FOUR(""));
}

TEST(cells_are_where_the_names_are)
{
	static const struct column cols[] = {OTHER("A", CUMULATIVE), BUCKET("B0"), BUCKET("B1")};
	static const double wanted[] = {1,  9,	5,  9,	/* A: Min, Max, Avg, Last */
					2,  4,	10, 20, /* Min_B0, Min_B1, Max_B0, Max_B1 */
					6,  12,		/* Avg */
					12, 24};	/* Sum */
	static const bool unknown[3] = {false};
	const union cell rows[] = {{.f = 1}, {.f = 2}, {.f = 4}, {.f = 9}, {.f = 10}, {.f = 20}};
	struct summary_cell cells[3] = {{0}};
	union cell out[1 + N(wanted)];

	summary__rows(cells, cols, unknown, 3, rows, 2);
	summary__fill(cells, cols, 3, true, 7, out);
	assert_true(out[0].u == 7);
	for (unsigned i = 0; i < N(wanted); i++)
		assert_true(out[1 + i].f == wanted[i]);
	summary__fill(NULL, cols, 3, false, 0, out);
	for (unsigned i = 0; i < N(wanted); i++)
		assert_true(isnan(out[i].f));
}

/* A sum is rounded once, however many the rows. */
TEST(integers_of_any_size)
{
	static const struct column cols[] = {{.name = "U", .type = COL_U64},
					     {.name = "I", .type = COL_I64}};
	static const bool unknown[2] = {false};
	const union cell rows[] = {{.u = UINT64_MAX}, {.i = INT64_MIN},		  {.u = UINT64_MAX},
				   {.i = -1},	      {.u = 4611686018427387904}, {.i = 7}};
	struct summary_cell c[2] = {{0}};

	summary__rows(c, cols, unknown, 2, rows, 3);
	assert_true(c[0].min == 0x1p62 && c[0].max == 0x1p64 && c[0].last == 0x1p62);
	assert_true(c[0].sum == 0x9p62 && c[0].n == 3);
	assert_true(c[1].min == -0x1p63 && c[1].max == 7 && c[1].last == 7);
	assert_true(c[1].sum == -0x1p63 && c[1].n == 3);
	summary__rows(c, cols, unknown, 2, rows + 4, 1);
	assert_true(c[0].n == 4 && c[0].sum == 0xap62 && c[1].n == 4 && c[1].last == 7);
	summary__rows(c, cols, unknown, 2, rows, 0);
	assert_true(c[0].n == 4 && c[1].n == 4);
}

/* Slurm's columns have no NaN: 0 of memory is a row in which no process lived. */
TEST(rows_without_a_process_are_in_no_mean)
{
	static const struct column cols[] = {{.name = "RSS", .type = COL_U64, .how = HOW_RSS},
					     {.name = "Pages", .type = COL_U64, .how = HOW_TOTAL},
					     {.name = "VMSize", .type = COL_U64, .how = HOW_GAUGE}};
	static const bool unknown[3] = {false};
	const union cell rows[] = {{.u = 0},  {.u = 0}, {.u = 0}, {.u = 30}, {.u = 3}, {.u = 0},
				   {.u = 10}, {.u = 5}, {.u = 0}, {.u = 0},  {.u = 8}, {.u = 0}};
	struct summary_cell c[3] = {{0}};

	summary__rows(c, cols, unknown, 3, rows, 4);
	assert_true(c[0].min == 10 && c[0].max == 30 && c[0].sum == 40 && c[0].n == 2);
	assert_true(c[1].min == 0 && c[1].max == 8 && c[1].sum == 16 && c[1].n == 4);
	assert_true(c[2].n == 0);
}

TEST(a_run_is_one_member_of_the_row)
{
	static const struct column cols[] = {BUCKET("B0"), BUCKET("B1"), OTHER("A", GAUGE)};
	struct column *totals;
	hsize_t n = 0;
	unsigned ncols;
	hid_t row, member;
	char *name;

	assert_int_equal(summary__columns(cols, 3, true, &totals, &ncols), 0);
	row = h5__row_type(totals, ncols, true);
	assert_true(row >= 0);
	assert_int_equal(H5Tget_size(row), 8 * ncols);
	assert_int_equal(H5Tget_nmembers(row), 1 + 4 + 3);
	name = H5Tget_member_name(row, 4);
	assert_string_equal(name, "Sum_B");
	assert_int_equal(H5Tget_member_offset(row, 4), 8 * 7);
	member = H5Tget_member_type(row, 4);
	assert_int_equal(H5Tget_array_dims2(member, &n), 1);
	assert_int_equal(n, 2);
	H5free_memory(name);
	H5Tclose(member);
	H5Tclose(row);
	summary__free_columns(totals, ncols);
}
