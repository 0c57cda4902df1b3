// SPDX-License-Identifier: GPL-2.0-or-later
/* The budget of the probes of regions: who pauses, and for how long. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "daemon/step/probed_regions.h"

#define TRAP_NS 1e4
#define TURN_NS (NSEC_PER_SEC / 10)

enum { FRUGAL, DEAR, N };

static const struct kern_region list[N] = {{.name = "frugal"}, {.name = "dear"}};
static struct probed_regions *regions;
static uint64_t now, traps[JP_REGIONS];
static bool probed[N];

/* ---- in place of the kernel */

uint64_t kern__traps(const struct kern *k, unsigned region)
{
	(void)k;
	return traps[region];
}

double kern__trap_ns(const struct kern *k)
{
	(void)k;
	return TRAP_NS;
}

void kern__pause_region(struct kern *k, unsigned region)
{
	(void)k;
	probed[region] = false;
}

int kern__resume_region(struct kern *k, unsigned region)
{
	(void)k;
	probed[region] = true;
	return 0;
}

const char *kern__error(void)
{
	return "";
}

const struct jp_control *kern__control(const struct kern *k)
{
	static const struct jp_control control;

	(void)k;
	return &control;
}

/* ---- */

static int setup(void **state)
{
	(void)state;
	now = NSEC_PER_SEC;
	for (unsigned i = 0; i < N; i++) {
		traps[i] = 0;
		probed[i] = true;
	}
	regions = probed_regions__new(list, N, 2, now);
	return regions ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(regions);
	return 0;
}

/* The shares of a CPU that their probes take for so long, while they are there. */
static void run(double seconds, double frugal, double dear)
{
	const double share[N] = {frugal, dear};

	for (uint64_t end = now + (uint64_t)(seconds * NSEC_PER_SEC); now < end;) {
		now += TURN_NS;
		for (unsigned i = 0; i < N; i++)
			traps[i] += probed[i] ? (uint64_t)(share[i] * TURN_NS / TRAP_NS) : 0;
		probed_regions__watch(regions, NULL, now);
	}
}

TEST(within_the_budget_none_pauses)
{
	run(1000, 0.01, 0.009);
	assert_true(probed[FRUGAL] && probed[DEAR]);
	assert_int_equal(regions->of[FRUGAL].pauses + regions->of[DEAR].pauses, 0);
}

TEST(the_dear_one_pauses_and_comes_back)
{
	run(1, 0.01, 0.8);
	assert_true(probed[FRUGAL] && !probed[DEAR]);
	run(20, 0.01, 0);
	assert_true(probed[FRUGAL] && probed[DEAR]);
	assert_int_equal(regions->of[DEAR].pauses, 1);
}

/* Together it has spent more, but that has been paid for. */
TEST(who_spends_little_for_long_does_not_pause)
{
	run(1000, 0.01, 0);
	run(0.5, 0.01, 0.8);
	assert_true(probed[FRUGAL] && !probed[DEAR]);
	run(1000, 0.01, 0.8);
	assert_int_equal(regions->of[FRUGAL].pauses, 0);
	assert_true(regions->of[DEAR].pauses > 20);
}

TEST(in_the_end_they_cost_the_budget)
{
	run(1000, 0.5, 0.8);
	assert_in_range((uint64_t)((double)(traps[FRUGAL] + traps[DEAR]) * TRAP_NS / 1e9), 18, 21);
}

TEST(what_is_said_of_all_regions_fits)
{
	char text[KERN_REGIONS_TEXT], last[] = " % of a CPU";
	struct kern_region most[JP_REGIONS];
	struct probed_regions *r;

	for (unsigned i = 0; i < JP_REGIONS; i++) {
		most[i] = (struct kern_region){.wait = true};
		memset(most[i].name, 'x', sizeof(most[i].name) - 1);
		traps[i] = 1;
	}
	r = probed_regions__new(most, JP_REGIONS, 0.0123456, 0);
	assert_non_null(r);
	for (unsigned i = 0; i < JP_REGIONS; i++) {
		r->of[i].pauses = UINT_MAX;
		r->of[i].paused_s = 1e8;
		r->of[i].first_ns = 100000000 * NSEC_PER_SEC;
	}
	assert_int_equal(probed_regions__text(r, NULL, text, sizeof(text)), JP_REGIONS);
	assert_string_equal(text + strlen(text) - strlen(last), last);
	free(r);
}

static struct unit_fixture fixture = {.setup = setup, .teardown = teardown};
