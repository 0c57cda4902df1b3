/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows as bins: amounts are spread, gauges are means over time, steps of a node are joined. */

#include "tests/unit/unit.h"
#include "model/binned.h"
#include "schema/describe.h"

static const struct time_grid grid = {.t0_ns = 0, .dt_s = 10, .end_s = 25, .n = 3};

static double bin(const struct binner *b, enum quantity q, unsigned k)
{
	return b->bins[(size_t)q * grid.n + k];
}

/* Columns 0, 1, 2: CPUTime, RunDelay, RSS. */
static struct binner_columns columns(const char *series)
{
	struct binner_columns c = {.series = series};

	memset(c.at, -1, sizeof(c.at));
	for (int q = 0; q < N_QUANTITIES; q++)
		for (int i = 0; i < BINNED_COLUMNS; i++)
			c.type[q][i] = COL_F64;
	c.at[Q_CPU][0] = c.at[Q_COVERED][0] = c.at[Q_AVOIDABLE][1] = 0;
	c.at[Q_WAIT][0] = c.at[Q_AVOIDABLE][0] = 1;
	c.at[Q_RSS][0] = c.at[Q_CYCLES][0] = 2;
	return c;
}

/* A table of n rows. */
static void add(struct binner *b, unsigned n, const double rows[][3], double begin,
		const double *end)
{
	struct binner_columns c = columns("STEP");

	assert_int_equal(binner__add(b, &c, (const union cell *)rows, 3, n, begin, end), 0);
	binner__end_table(b);
}

static struct binner new_binner(void)
{
	struct binner b;

	assert_int_equal(binner__init(&b, &grid), 0);
	b.cores = 2;
	return b;
}

TEST(amounts_are_spread_evenly)
{
	const double rows[][3] = {{5, 0, 0}, {10, 0, 0}}, end[] = {5, 25};
	struct binner b = new_binner();

	add(&b, 2, rows, 0, end);
	near(bin(&b, Q_CPU, 0), 5 + 10 * 5 / 20.0);
	near(bin(&b, Q_CPU, 1), 10 * 10 / 20.0);
	near(bin(&b, Q_CPU, 2), 10 * 5 / 20.0);
	near(b.total[Q_CPU], 15);
	near(bin(&b, Q_COVERED, 1), 10);
	binner__free(&b);
}

TEST(gauges_are_means_over_time_and_their_total_is_the_highest)
{
	const double rows[][3] = {{0, 0, 1024}, {0, 0, 3072}}, end[] = {2, 10};
	struct binner b = new_binner();

	add(&b, 2, rows, 0, end);
	near(bin(&b, Q_RSS, 0), (1 * 2 + 3 * 8) / 10.0);
	assert_true(isnan(bin(&b, Q_RSS, 1)));
	near(b.total[Q_RSS], 3);
	binner__free(&b);
}

TEST(what_is_not_known_is_not_zero)
{
	const double rows[][3] = {{NAN, 1, NAN}, {4, NAN, 2048}}, end[] = {10, 20};
	struct binner b = new_binner();

	add(&b, 2, rows, 0, end);
	assert_true(isnan(bin(&b, Q_CPU, 0)) && isnan(bin(&b, Q_RSS, 0)));
	near(b.total[Q_CPU], 4);
	assert_true(isnan(b.total[Q_AVOIDABLE]) && isnan(b.total[Q_IO]));
	binner__free(&b);
}

/* OverheadBudget has made the family network rest in these rows. */
TEST(the_total_of_what_rested_is_not_known)
{
	const double rows[][3] = {{1, 100, 0}, {1, NAN, 0}, {1, 300, 0}},
		     short_rest[] = {10, 10.5, 25};
	const double end[] = {10, 15, 25};
	struct binner_columns c = columns("STEP");
	struct binner b = new_binner();

	c.at[Q_NET_TX][0] = 1;
	assert_int_equal(binner__add(&b, &c, (const union cell *)rows, 3, 3, 0, end), 0);
	binner__end_table(&b);
	assert_true(isnan(b.total[Q_NET_TX]));
	near(bin(&b, Q_NET_TX, 0), 100);
	near(b.total[Q_CPU], 3);
	binner__clear(&b);
	assert_int_equal(binner__add(&b, &c, (const union cell *)rows, 3, 3, 0, short_rest), 0);
	binner__end_table(&b);
	near(b.total[Q_NET_TX], 400);
	binner__free(&b);
}

TEST(an_event_of_a_set_stands_for_all_of_the_cpu_time)
{
	const double rows[][3] = {{1, 0, 100}, {3, 0, NAN}, {2, 0, NAN}, {2, 0, 300}};
	const double end[] = {5, 10, 15, 20};
	struct binner b = new_binner();

	add(&b, 4, rows, 0, end);
	near(bin(&b, Q_CYCLES, 0), 100 * 4 / 1.0);
	near(bin(&b, Q_CYCLES, 1), 300 * 4 / 2.0);
	assert_true(isnan(bin(&b, Q_CYCLES, 2)));
	near(b.total[Q_CYCLES], 400 * 8 / 3.0);
	add(&b, 1, (const double[][3]){{1, 0, NAN}}, 20, (const double[]){25});
	assert_true(isnan(bin(&b, Q_CYCLES, 2)));
	binner__free(&b);
}

TEST(avoidable_waiting_is_what_idle_cores_could_take)
{
	/* Two cores for 10 s: 5 s were idle of 20; 20 s of 20. */
	const double rows[][3] = {{15, 8, 0}, {0, 3, 0}}, end[] = {10, 20};
	struct binner b = new_binner();

	add(&b, 2, rows, 0, end);
	near(bin(&b, Q_AVOIDABLE, 0), 5);
	near(bin(&b, Q_AVOIDABLE, 1), 3);
	binner__free(&b);
}

TEST(queues_say_what_was_avoidable)
{
	/* Waits of 4 s: a fourth beside an idle core; none; not looked at; all, but 1 s was idle.
	 */
	const double rows[][4] = {{16, 4, 8, 2}, {16, 4, 8, 0}, {3, 4, 0, 0}, {5, 4, 8, 8}},
		     end[] = {10, 20, 22, 25};
	struct binner_columns c = columns("STEP");
	struct binner b = new_binner();

	c.at[Q_AVOIDABLE][2] = 2;
	c.at[Q_AVOIDABLE][3] = 3;
	assert_int_equal(binner__add(&b, &c, (const union cell *)rows, 4, 4, 0, end), 0);
	near(bin(&b, Q_AVOIDABLE, 0), 1);
	near(bin(&b, Q_AVOIDABLE, 1), 0);
	near(bin(&b, Q_AVOIDABLE, 2), 1 + 1);
	binner__free(&b);
}

TEST(more_rows_than_a_block)
{
	double rows[100][3], end[100];
	struct binner b = new_binner();

	for (int i = 0; i < 100; i++) {
		end[i] = 0.25 * (i + 1);
		rows[i][0] = i;
		rows[i][1] = rows[i][2] = 1024;
	}
	add(&b, 100, (const double(*)[3])rows, 0, end);
	near(bin(&b, Q_CPU, 0), 39 * 40 / 2);
	near(bin(&b, Q_CPU, 1), 79 * 80 / 2 - 39 * 40 / 2);
	near(b.total[Q_CPU], 99 * 100 / 2);
	near(bin(&b, Q_RSS, 2), 1);
	assert_int_equal(b.rows, 100);
	binner__free(&b);
}

TEST(rows_outside_of_the_grid_are_in_the_total_alone)
{
	const double rows[][3] = {{1, 0, 0}, {2, 0, 0}}, end[] = {-5, 40};
	struct binner b = new_binner();

	add(&b, 2, rows, -10, end);
	near(b.total[Q_CPU], 3);
	near(bin(&b, Q_CPU, 0) + bin(&b, Q_CPU, 1) + bin(&b, Q_CPU, 2), 2 * 25 / 45.0);
	binner__free(&b);
}

TEST(a_row_of_no_length_lies_in_the_bin_of_its_end)
{
	const double rows[][3] = {{1, 0, 2048}, {2, 0, 2048}}, end[] = {12, 11};
	struct binner b = new_binner();

	add(&b, 2, rows, 12, end);
	near(bin(&b, Q_CPU, 1), 3);
	near(bin(&b, Q_RSS, 1), 2);
	binner__free(&b);
}

TEST(steps_of_a_node_add_their_amounts_and_share_its_time)
{
	const double one[][3] = {{4, 0, 1024}}, two[][3] = {{6, 0, 5120}}, end_one[] = {5},
		     end_two[] = {10};
	struct binner a = new_binner(), b = new_binner();

	add(&a, 1, one, 0, end_one);
	add(&b, 1, two, 5, end_two);
	binner__join_step(&a, &b);
	near(bin(&a, Q_CPU, 0), 10);
	near(bin(&a, Q_RSS, 0), (1 * 5 + 5 * 5) / 10.0);
	near(bin(&a, Q_COVERED, 0), 10);
	near(a.total[Q_RSS], 5);
	binner__free(&a);
	binner__free(&b);
}

TEST(a_step_that_has_ended_adds_nothing_to_the_one_after_it)
{
	const double one[][3] = {{4, 0, 3072}, {0, 0, 3072}}, two[][3] = {{6, 0, 1024}},
		     end_one[] = {10, 10}, end_two[] = {20};
	struct binner a = new_binner(), b = new_binner();

	add(&a, 2, one, 0, end_one);
	add(&b, 1, two, 10, end_two);
	binner__join_step(&a, &b);
	near(bin(&a, Q_RSS, 0), 3);
	near(bin(&a, Q_RSS, 1), 1);
	near(a.total[Q_RSS], 3);
	binner__free(&a);
	binner__free(&b);
}

/* Rows of 2 s, in which each of two tasks has its highest memory at another time of a bin. */
TEST(what_units_hold_together_is_of_one_time)
{
	const struct time_grid fine = {.dt_s = 10, .end_s = 25, .n = 3, .instants = 5};
	const double
		end[] = {2, 4, 6, 8, 10},
		one[][3] = {{0, 0, 1024}, {0, 0, 5120}, {0, 0, 1024}, {0, 0, 1024}, {0, 0, 1024}},
		two[][3] = {{0, 0, 2048}, {0, 0, 2048}, {0, 0, 2048}, {0, 0, 7168}, {0, 0, 2048}};
	struct binner a = new_binner(), b = new_binner();

	binner__free(&a);
	binner__free(&b);
	assert_int_equal(binner__init(&a, &fine) | binner__init(&b, &fine), 0);
	add(&a, 5, one, 0, end);
	add(&b, 5, two, 0, end);
	binner__merge(&a, &b);
	near(a.total[Q_RSS], 1 + 7);
	near(bin(&a, Q_RSS, 0), 9 / 5.0 + 15 / 5.0);
	binner__free(&a);
	binner__free(&b);
}

TEST(where_no_step_of_a_node_has_rows_nothing_is_covered)
{
	const double row[][3] = {{4, 0, 1024}}, end[] = {5};
	struct binner a = new_binner(), b = new_binner();

	add(&a, 1, row, 0, end);
	add(&b, 1, row, 0, end);
	binner__join_step(&a, &b);
	assert_true(isnan(bin(&a, Q_COVERED, 1)));
	near(a.total[Q_COVERED], 10);
	binner__free(&a);
	binner__free(&b);
}

TEST(a_row_over_a_gap_is_in_the_total_alone)
{
	const double rows[][3] = {{1, 0, 1024}, {2, 1, 2048}, {3, 0, 1024}}, end[] = {1, 21, 22};
	struct binner b = new_binner();

	b.gap_s = 10;
	add(&b, 3, rows, 0, end);
	near(b.total[Q_CPU], 6);
	near(b.total[Q_RSS], 2);
	near(b.total[Q_COVERED], 2);
	near(bin(&b, Q_CPU, 0), 1);
	assert_true(isnan(bin(&b, Q_CPU, 1)) && isnan(bin(&b, Q_COVERED, 1)));
	near(bin(&b, Q_CPU, 2), 3);
	binner__free(&b);
}

TEST(flags_are_the_share_of_the_time_in_which_a_bit_was_set)
{
	const double reasons[] = {0x8, 0x100}, end[] = {4, 10};
	struct binner b = new_binner();
	struct binner_columns c = columns("GPU");

	c.at[Q_GPU_THROTTLE][0] = 0;
	assert_int_equal(binner__add(&b, &c, (const union cell *)reasons, 1, 2, 0, end), 0);
	binner__end_table(&b);
	near(bin(&b, Q_GPU_THROTTLE, 0), 0.4);
	near(b.total[Q_GPU_THROTTLE], 1);
	binner__free(&b);
}

TEST(amounts_are_of_columns_per_interval_and_gauges_of_gauges)
{
	for (int q = 0; q < N_QUANTITIES; q++) {
		const struct quantity_info *info = &quantity_infos[q];
		const char *series = strcmp(info->series, "STEP") ? info->series : "Step";

		for (int i = 0; i < BINNED_COLUMNS && info->columns[i]; i++) {
			struct column c = column__describe(series, info->columns[i], NULL);
			char ranks[64];

			snprintf(ranks, sizeof(ranks), "Rank%s", series);
			if (c.source != COL_BUILTIN) /* only tables of ranks have it */
				c = column__describe(ranks, info->columns[i], NULL);
			if (info->how == BINNED_COUNTED)
				continue; /* PerfEvents= makes these columns */
			if (c.source != COL_BUILTIN ||
			    c.kind != (quantity__is_gauge(q) ? COL_GAUGE : COL_DELTA))
				fail_msg("%s: schemas/binned.def, and the column %s of %s",
					 info->id, c.name, series);
		}
	}
}
