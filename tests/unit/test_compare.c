/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terms of a comparison add up, whatever the two runs are. */

#include "tests/unit/unit.h"
#include "analysis/compare/compare.h"

static double part(double of)
{
	return of * rand() / RAND_MAX;
}

/* Any run: one in eight lacks a column, has no CPU time or no counters. */
static struct compare_run any_run(void)
{
	double cpu = 1 + part(1e4);
	struct compare_run r = {
		.cores = 1 + (int)part(64),
		.path_cpu_s = cpu,
		.cpu_s = cpu * (0.5 + part(32)),
		.path_wait_s = part(100),
		.path_disk_s = part(100),
		.tail_s = part(50),
		.unknown_s = part(10),
	};

	for (int i = 0; i < COMPARE_CAUSES; i++)
		r.path_cause_s[i] = part(20);
	r.cycles = r.cpu_s * (1e9 + part(3e9));
	r.instructions = r.cycles * (0.1 + part(3));
	switch (rand() % 16) {
	case 5:
		for (int i = 0; i < COMPARE_CAUSES; i++)
			r.path_cause_s[i] = NAN;
		break;
	case 0:
		r.path_wait_s = NAN;
		break;
	case 1:
		r.path_disk_s = NAN;
		break;
	case 2:
		r.instructions = NAN;
		break;
	case 3:
		r.cores = NAN;
		break;
	case 4:
		r.cpu_s = r.path_cpu_s = 0;
		break;
	}
	r.wall_s = r.path_cpu_s + r.tail_s + r.unknown_s + 450 + part(100);
	return r;
}

static double sum_of(const struct comparison *c, bool ln)
{
	double sum = 0;

	for (int i = 0; i < N_TERMS; i++)
		if (c->change[i].is_in == (enum compare_term)i)
			sum += ln ? c->change[i].ln : c->change[i].s;
		else
			assert_true(isnan(c->change[i].s) && isnan(c->change[i].ln));
	return sum;
}

TEST(terms_add_up_and_change_their_sign)
{
	srand(1);
	for (int k = 0; k < 100000; k++) {
		struct compare_run a = any_run(), b = any_run();
		struct comparison ab, ba;

		compare__of(&ab, &a, &b);
		compare__of(&ba, &b, &a);
		assert_true(fabs(sum_of(&ab, true) - log(b.wall_s / a.wall_s)) < 1e-9);
		assert_true(fabs(sum_of(&ab, false) - (b.wall_s - a.wall_s)) < 1e-9 * a.wall_s);
		for (int i = 0; i < N_TERMS; i++)
			if (!isnan(ab.change[i].s))
				assert_true(fabs(ab.change[i].s + ba.change[i].s) < 1e-8);
	}
}

TEST(a_run_compared_with_itself_has_no_terms)
{
	struct compare_run a = any_run();
	struct comparison c;

	a.path_wait_s = a.path_disk_s = 1;
	compare__of(&c, &a, &a);
	for (int i = 0; i < N_TERMS; i++)
		assert_true(isnan(c.change[i].s) || c.change[i].s == 0);
	assert_int_equal(c.cause, N_TERMS);
}

/* Twice the instructions at equal speed: of a path half of which is CPU time. */
TEST(work_is_all_of_a_change_of_instructions)
{
	const struct compare_run a = {200, 4, 400, 8e11, 4e11, 100, 0, 0, 0, 0, {0}},
				 b = {300, 4, 800, 16e11, 8e11, 200, 0, 0, 0, 0, {0}};
	struct comparison c;

	compare__of(&c, &a, &b);
	assert_int_equal(c.cause, TERM_WORK);
	assert_true(fabs(c.change[TERM_WORK].s - 100) < 1e-9);
	assert_true(fabs(c.change[TERM_BLOCKED].s) < 1e-9);
	assert_true(fabs(c.change[TERM_WORK].ln - log(1.5)) < 1e-12);
}

TEST(what_one_run_does_not_know_is_part_of_other_waiting)
{
	struct compare_run a = {100, 1, 50, NAN, NAN, 50, 10, 0, 0, 0, {0}}, b = a;
	struct comparison c;

	b.path_wait_s = NAN;
	b.wall_s = 130;
	compare__of(&c, &a, &b);
	assert_int_equal(c.change[TERM_WAIT].is_in, TERM_BLOCKED);
	assert_int_equal(c.change[TERM_IPC].is_in, TERM_WORK);
	assert_true(isnan(c.change[TERM_WAIT].s) && isnan(c.change[TERM_WAIT].ln));
	assert_true(fabs(c.change[TERM_BLOCKED].before - 50) < 1e-9);
	assert_true(fabs(c.change[TERM_BLOCKED].s - 30) < 1e-9);
}

TEST(what_a_run_waited_for_is_a_term_where_both_know_it)
{
	struct compare_run a = {.wall_s = 100, .path_cpu_s = 50, .cpu_s = 50, .cores = 1}, b = a;
	struct comparison c;

	b.wall_s = 130;
	a.path_cause_s[TERM_FUTEX - TERM_QUOTA] = 5;
	b.path_cause_s[TERM_FUTEX - TERM_QUOTA] = 33;
	compare__of(&c, &a, &b);
	assert_int_equal(c.cause, TERM_FUTEX);
	assert_true(fabs(c.change[TERM_FUTEX].s - 28) < 1e-9);
	assert_true(fabs(c.change[TERM_BLOCKED].s - 2) < 1e-9);
	for (int i = 0; i < COMPARE_CAUSES; i++)
		b.path_cause_s[i] = NAN;
	compare__of(&c, &a, &b);
	assert_int_equal(c.change[TERM_FUTEX].is_in, TERM_BLOCKED);
	assert_int_equal(c.cause, TERM_BLOCKED);
	assert_true(fabs(c.change[TERM_BLOCKED].s - 30) < 1e-9);
}

static void compare_with(struct comparison *out, double wall_s)
{
	const struct compare_run a = {100, 1, 50, NAN, NAN, 50, 10, 0, 0, 0, {0}};
	struct compare_run b = a;

	b.wall_s = wall_s;
	b.path_wait_s += wall_s - 100;
	compare__of(out, &a, &b);
}

TEST(earlier_runs_tell_what_is_unusual)
{
	static const double walls[] = {99, 100, 101, 102, 98};
	struct comparison earlier[5], usual, unusual;
	struct compare_spread s[N_TERMS];

	for (int i = 0; i < 5; i++)
		compare_with(&earlier[i], walls[i]);
	compare_with(&usual, 103);
	compare_with(&unusual, 120);
	assert_int_equal(compare__spread(s, &usual, earlier, 5), 0);
	assert_false(s[TERM_WAIT].is_unusual);
	assert_int_equal(compare__spread(s, &unusual, earlier, 5), 0);
	assert_true(s[TERM_WAIT].is_unusual);
	assert_true(s[TERM_WAIT].median == 0);
	assert_true(fabs(s[TERM_WAIT].mad - 1.4826 * log(1.01)) < 1e-3);
	assert_false(s[TERM_BLOCKED].is_unusual);
	assert_true(isnan(s[TERM_IPC].median));
	assert_int_equal(compare__spread(s, &unusual, earlier, 4), 0);
	assert_true(isnan(s[TERM_WAIT].z) && !s[TERM_WAIT].is_unusual);
}
