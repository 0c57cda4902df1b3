// SPDX-License-Identifier: GPL-2.0-or-later
/* Which changes of what a step uses make versions of its file due, and when (daemon/step). */
#include "tests/unit/unit.h"
#include "base/clock.h"
#include "daemon/step/use_watch.h"
#include "sample/totals.h"

#define EVERY (600 * NSEC_PER_SEC)
#define ROW   (30 * NSEC_PER_SEC)
#define MB    1048576.0

static struct use_watch watch;
static struct totals totals;
static uint64_t clock_ns;
static uint64_t early_ns; /* every other row */
static unsigned told;	  /* changes */

static void begin(void)
{
	memset(&watch, 0, sizeof(watch));
	memset(&totals, 0, sizeof(totals));
	clock_ns = 1000 * NSEC_PER_SEC;
	early_ns = 0;
	told = 0;
}

/* So many rows with that many threads at work and waiting, and so much memory. */
static void pass(unsigned rows, double cpu, double wait, double mb)
{
	for (unsigned i = 0; i < rows; i++) {
		clock_ns += ROW;
		totals.v[T_CPU] += (uint64_t)(cpu * (double)ROW);
		totals.v[T_RUN_DELAY] += (uint64_t)(wait * (double)ROW);
		totals.v[T_ANON] = (uint64_t)(mb * MB);
		told += use_watch__look(&watch, &totals, clock_ns - clock_ns / ROW % 2 * early_ns,
					EVERY);
	}
}

/* Seconds from the change on, if the last version began then; -1: none is due. */
static double due(uint64_t changed_ns, double version_s)
{
	const uint64_t version = changed_ns + (uint64_t)(int64_t)(version_s * NSEC_PER_SEC),
		       at = use_watch__due(&watch, version, 0.5, EVERY);

	return at == UINT64_MAX ? -1 : ((double)at - (double)changed_ns) / NSEC_PER_SEC;
}

struct use {
	double cpu, wait, mb;
};

/* Whether five minutes otherwise are seen after an hour of an even use. */
static bool is_seen(struct use before, struct use after)
{
	begin();
	pass(120, before.cpu, before.wait, before.mb);
	assert_true(use_watch__due(&watch, 0, 0, EVERY) == UINT64_MAX);
	pass(10, after.cpu, after.wait, after.mb);
	return use_watch__due(&watch, 0, 0, EVERY) != UINT64_MAX;
}

TEST(findings_are_changes)
{
	const struct use two = {2, 0, 300}, many = {64, 0.5, 8000}, asleep = {0, 0, 10};

	assert_true(is_seen(two, (struct use){1, 1, 300}));
	assert_true(is_seen(many, (struct use){32, 32, 8000}));
	assert_true(is_seen(many, (struct use){0, 0, 8000}));
	assert_true(is_seen(many, (struct use){64, 0.5, 10500}));
	assert_false(is_seen(many, (struct use){64, 0.5, 9000}));
	assert_false(is_seen(many, (struct use){62, 3, 8000}));
	assert_false(is_seen(asleep, (struct use){0.1, 0, 40}));
}

TEST(due_when_there_are_rows_enough)
{
	uint64_t changed;

	begin();
	pass(120, 2, 0, 300);
	changed = clock_ns;
	pass(1, 1, 1, 300);
	near(due(changed, -200), -1);
	pass(1, 1, 1, 300);
	assert_int_equal(told, 1);
	near(due(changed, -200), 105);
	near(due(changed, 70), 105);
	near(due(changed, 106), 345);
	near(due(changed, 346), -1);
	pass(40, 1, 1, 300);
	assert_int_equal(told, 1);
	near(due(changed, 346), -1);
	pass(2, 2, 0, 300); /* what was mended is a change, too */
	near(due(changed, 346), 42 * 30 + 105);
	pass(2, 1, 1, 300); /* and so is what comes soon after it: no version is due */
	assert_int_equal(told, 3);
	near(due(changed, 346), 42 * 30 + 105);
}

TEST(rows_that_are_not_punctual)
{
	uint64_t changed;

	begin();
	early_ns = NSEC_PER_SEC / 2;
	pass(121, 2, 0, 300);
	changed = clock_ns;
	pass(2, 1, 1, 300);
	assert_int_equal(told, 1);
	assert_true(fabs(due(changed, -200) - 105) < 1);
}

/* How many more versions a step has in a day that computes for so many rows and writes for as many,
 * 0: that only computes. */
static unsigned more_versions(unsigned phase, double noise)
{
	uint64_t version = 0;
	unsigned n = 0;

	begin();
	srand(7);
	for (unsigned i = 0; i < 2880; i++) {
		const double chance = 1 + noise * (2.0 * rand() / RAND_MAX - 1);
		const bool writes = phase && i / phase % 2;

		pass(1, (writes ? 1 : 16) * chance, 0.2, 4000 * chance);
		if (clock_ns >= use_watch__due(&watch, version, 0.5, EVERY)) {
			version = clock_ns;
			n++;
		}
	}
	return n;
}

TEST(no_more_for_an_even_step)
{
	assert_int_equal(more_versions(0, 0), 0);
	assert_int_equal(more_versions(0, 0.15), 0);
	for (unsigned phase = 1; phase < 20; phase++)
		assert_in_range(more_versions(phase, 0.05), 0, 2); /* of the first change */
}

TEST(a_bound_for_others)
{
	for (unsigned phase = 20; phase < 200; phase++)
		assert_in_range(more_versions(phase, 0.05), 1, 2 * 144);
}
