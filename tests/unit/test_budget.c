// SPDX-License-Identifier: GPL-2.0-or-later
/* What rests to keep OverheadBudget, in which order, and when it works again (daemon/budget). */
#include <math.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "bpf/abi/family.h"
#include "daemon/budget/budget.h"

#define LOOK_S 2.0

/* A node: what each part would use of a CPU if it worked, and what never rests. */
struct node {
	double busy, full[BUDGET_PARTS], fixed;
};

static struct budget budget;
static double clock_s;

static double at_level(int p, unsigned level)
{
	if (p == BUDGET_ROWS)
		return 1.0 / (1u << level);
	if (!level)
		return 1;
	return level < budget_infos[p].levels ? 1.0 / BUDGET_EVERY : 0;
}

static double cost_of(const struct node *n)
{
	double sum = n->fixed;

	for (int p = 0; p < BUDGET_PARTS; p++)
		sum += n->full[p] * at_level(p, budget.level[p]);
	return sum;
}

/* Lets the node be like that for a time. Returns how often levels have changed. */
static unsigned pass(const struct node *n, double seconds)
{
	unsigned changes = 0;

	for (double end = clock_s + seconds; clock_s < end; clock_s += LOOK_S) {
		struct budget_use u = {
			.s = LOOK_S, .busy_s = n->busy * LOOK_S, .fixed_s = n->fixed * LOOK_S};

		for (int p = 0; p < BUDGET_PARTS; p++) {
			u.full_s[p] = n->full[p] * LOOK_S;
			u.now_s[p] = u.full_s[p] * at_level(p, budget.level[p]);
			if (p >= BUDGET_NETWORK && p <= BUDGET_FILES && budget.level[p] == 2)
				u.full_s[p] = NAN; /* nobody sees it */
		}
		changes += budget__take(&budget, &u);
	}
	return changes;
}

static void begin(double percent)
{
	budget__init(&budget, percent);
	clock_s = 0;
}

static bool all_works(void)
{
	for (int p = 0; p < BUDGET_PARTS; p++)
		if (budget.level[p])
			return false;
	return true;
}

/* As measured with a sleeping task on a machine with two CPUs (docs/performance.md): the daemon
 * takes 20 ms a minute, and a file that is written 9 ms at once. */
static const struct node quiet = {.busy = 0.02, .full = {[BUDGET_ROWS] = 0.0005}};

/* 100,000 switches a second on each of two CPUs, 215 ns each. */
static const struct node switches = {.busy = 2,
				     .full = {[BUDGET_STACKS] = 0.0024,
					      [BUDGET_CULPRITS] = 0.0043,
					      [BUDGET_WAITS] = 0.0086,
					      [BUDGET_HISTOGRAMS] = 0.0043,
					      [BUDGET_SWITCHES] = 0.0258,
					      [BUDGET_ROWS] = 0.0005}};

/* A million calls of sockets a second. */
static const struct node calls = {.busy = 2,
				  .full = {[BUDGET_STACKS] = 0.0024,
					   [BUDGET_SWITCHES] = 0.0002,
					   [BUDGET_NETWORK] = 0.12,
					   [BUDGET_ROWS] = 0.0005}};

/* 10,000 processes a second. */
static const struct node forks = {.busy = 2,
				  .full = {[BUDGET_STACKS] = 0.0024,
					   [BUDGET_WAITS] = 0.0004,
					   [BUDGET_BIRTHS] = 0.022,
					   [BUDGET_SWITCHES] = 0.001,
					   [BUDGET_ROWS] = 0.0005},
				  .fixed = 0.007};

TEST(a_quiet_node_stays_exact)
{
	begin(0.5);
	assert_int_equal(pass(&quiet, 24 * 3600), 0);
	assert_true(all_works());
}

TEST(a_busy_node_without_a_storm_stays_exact)
{
	struct node n = {.busy = 64,
			 .full = {[BUDGET_STACKS] = 64 * 0.0012, [BUDGET_SWITCHES] = 0.02}};

	begin(0.5);
	assert_int_equal(pass(&n, 24 * 3600), 0);
}

TEST(a_short_burst_changes_nothing)
{
	begin(0.5);
	pass(&quiet, 600);
	assert_int_equal(pass(&switches, 2), 0);
	assert_int_equal(pass(&quiet, 600), 0);
}

TEST(a_storm_is_inside_the_budget_soon)
{
	begin(0.5);
	pass(&quiet, 600);
	pass(&switches, 20);
	assert_true(cost_of(&switches) <= 0.005 * switches.busy);
	/* in the stated order */
	for (int p = BUDGET_STACKS; p < BUDGET_HISTOGRAMS; p++)
		assert_true(budget.level[p] >= budget.level[p + 1] || !budget.level[p]);
	assert_int_equal(budget.level[BUDGET_ROWS], 0);
}

TEST(what_saves_nothing_works_on)
{
	begin(0.5);
	pass(&calls, 30);
	assert_true(cost_of(&calls) <= 0.005 * calls.busy);
	assert_int_equal(budget.level[BUDGET_NETWORK], 2);
	assert_int_equal(budget.level[BUDGET_SWITCHES], 0);
	assert_int_equal(budget.level[BUDGET_ROWS], 0);
	assert_true(budget__resting(&budget, false) & FAM_NETWORK);
	assert_false(budget__resting(&budget, false) & FAM_WAIT);
}

TEST(counters_are_sampled_before_they_are_not_counted)
{
	struct node n = {.busy = 2, .full = {[BUDGET_NETWORK] = 0.03}};

	begin(0.5);
	pass(&n, 60);
	assert_int_equal(budget.level[BUDGET_NETWORK], 1);
	assert_true(budget__samples(&budget));
	assert_true(budget__resting(&budget, false) & FAM_NETWORK);
	assert_false(budget__resting(&budget, true) & FAM_NETWORK);
}

/* What costs nothing any more works after one wait; what nobody can see is sampled first. */
TEST(all_comes_back_after_the_storm)
{
	begin(0.5);
	pass(&switches, 60);
	assert_false(all_works());
	pass(&quiet, 60);
	assert_true(all_works());
	begin(0.5);
	pass(&calls, 20);
	pass(&quiet, 40);
	assert_int_equal(budget.level[BUDGET_NETWORK], 1);
	pass(&quiet, 40);
	assert_true(all_works());
}

/* What is counted by what a process gets at its birth rests before births do, and no counter. */
TEST(processes_are_counted_when_they_end)
{
	begin(0.5);
	pass(&forks, 30);
	assert_true(cost_of(&forks) <= 0.005 * forks.busy);
	assert_int_equal(budget.level[BUDGET_BIRTHS], 1);
	for (int p = BUDGET_STACKS; p <= BUDGET_HISTOGRAMS; p++)
		assert_true(budget.level[p] == 1 || !(forks.full[p] > 0));
	assert_int_equal(budget.level[BUDGET_SWITCHES], 0);
	pass(&quiet, 60);
	assert_true(all_works());
}

/* What cannot be measured while it rests is tried, each time later. */
TEST(it_does_not_flutter)
{
	unsigned first, later;

	begin(0.5);
	pass(&calls, 60);
	first = pass(&calls, 1800);
	later = pass(&calls, 1800);
	assert_true(later < first || later <= 4);
	assert_true(later <= 8);
	/* what rests and can be measured is not tried at all */
	begin(0.5);
	pass(&switches, 60);
	assert_int_equal(pass(&switches, 3600), 0);
}

/* What is tried while the storm goes on may use the budget of 5 s more, and of two looks until it
 * rests. */
TEST(a_trial_is_short)
{
	double over = 0, most = 0;

	begin(0.5);
	pass(&calls, 60);
	for (double end = clock_s + 3600; clock_s < end;) {
		pass(&calls, LOOK_S);
		over = fmax(over + (cost_of(&calls) - 0.005 * calls.busy) * LOOK_S, 0);
		most = fmax(most, over);
	}
	assert_true(most > 0);
	assert_true(most <= 0.005 * calls.busy * (5 + 2 * LOOK_S));
}

TEST(the_daemon_itself_writes_fewer_rows)
{
	struct node n = {.busy = 1, .full = {[BUDGET_ROWS] = 0.03}};

	begin(0.5);
	pass(&n, 1200);
	assert_true(budget.level[BUDGET_ROWS] > 1);
	assert_true(cost_of(&n) <= 0.005);
	assert_int_equal(budget__resting(&budget, false), 0);
}

TEST(what_never_rests_is_told)
{
	struct node n = {.busy = 1, .fixed = 0.02};

	begin(0.5);
	pass(&n, 600);
	assert_true(budget.short_of);
	pass(&quiet, 600);
	assert_false(budget.short_of);
}

TEST(no_budget_no_rest)
{
	begin(0);
	assert_int_equal(pass(&switches, 600), 0);
}
