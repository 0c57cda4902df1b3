// SPDX-License-Identifier: GPL-2.0-or-later
/* Which share of each core belongs to which step. */

#include "tests/unit/unit.h"
#include "energy/core_alloc.h"
#include "identity/cpulist.h"

#define CPUS	 16
#define CORES	 8
#define PACKAGES 2

/* Two packages of four cores of two threads; CPU i + 8 is the sibling of CPU i. */
static struct core_alloc_cpu cpu[CPUS];
static const struct core_alloc_topology topo = {cpu, CPUS, CORES, PACKAGES};
static uint64_t bits[8];
static double out[8][PACKAGES];

static int make(void **state)
{
	for (unsigned i = 0; i < CPUS; i++)
		cpu[i] = (struct core_alloc_cpu){i % CORES, i % CORES / 4, true};
	return 0;
}

static struct core_alloc_step step(unsigned n, uint64_t job, bool support, const char *list)
{
	assert_true(cpulist__read(list, &bits[n], CPUS) >= 0);
	return (struct core_alloc_step){.job = job, .support = support, .held = &bits[n]};
}

static void expect(unsigned n, double first, double second)
{
	assert_float_equal(out[n][0], first, 1e-12);
	assert_float_equal(out[n][1], second, 1e-12);
}

TEST(whole_cores_count_once)
{
	struct core_alloc_step s[] = {step(0, 1, false, "0-1,8-9"), step(1, 2, false, "2-5,10-13")};

	assert_int_equal(core_alloc__count(&topo, s, 2, &out[0][0]), 0);
	expect(0, 2, 0);
	expect(1, 2, 2);
}

TEST(steps_of_a_job_share_and_support_stands_back)
{
	/* extern and batch hold the job's four cores, one step two of them, another one of these */
	struct core_alloc_step s[] = {step(0, 1, true, "0-3,8-11"), step(1, 1, true, "0-3,8-11"),
				      step(2, 1, false, "0-1,8-9"), step(3, 1, false, "1,9")};

	assert_int_equal(core_alloc__count(&topo, s, 4, &out[0][0]), 0);
	expect(0, 1, 0); /* cores 2 and 3 with batch */
	expect(1, 1, 0);
	expect(2, 1.5, 0);
	expect(3, 0.5, 0);
}

TEST(jobs_on_one_core_share_by_threads)
{
	struct core_alloc_step both[] = {step(0, 1, false, "0"), step(1, 2, false, "8")};
	struct core_alloc_step uneven[] = {step(2, 1, false, "0,8"), step(3, 2, false, "8")};
	struct core_alloc_step one[] = {step(4, 1, false, "0")};

	assert_int_equal(core_alloc__count(&topo, both, 2, &out[0][0]), 0);
	expect(0, 0.5, 0);
	expect(1, 0.5, 0);
	assert_int_equal(core_alloc__count(&topo, uneven, 2, &out[0][0]), 0);
	expect(0, 2 / 3.0, 0);
	expect(1, 1 / 3.0, 0);
	assert_int_equal(core_alloc__count(&topo, one, 1, &out[0][0]), 0);
	expect(0, 1, 0); /* nobody else has its sibling */
}

/* The batch step of one job and a step of another on the same core: two jobs. */
TEST(support_counts_where_its_job_has_nothing_else)
{
	struct core_alloc_step s[] = {step(0, 1, true, "0,8"), step(1, 2, false, "0,8")};

	assert_int_equal(core_alloc__count(&topo, s, 2, &out[0][0]), 0);
	expect(0, 0.5, 0);
	expect(1, 0.5, 0);
}

TEST(slurms_core_numbers)
{
	struct core_alloc_step s[] = {step(0, 1, false, "3-4")};

	s[0].by_core = true;
	assert_int_equal(core_alloc__count(&topo, s, 1, &out[0][0]), 0);
	expect(0, 1, 1);
}

TEST(what_is_not_known_is_not_zero)
{
	struct core_alloc_step s[] = {{.job = 1}, step(0, 2, false, "4,12")};

	assert_int_equal(core_alloc__count(&topo, s, 2, &out[0][0]), 0);
	assert_true(isnan(out[0][0]) && isnan(out[0][1]));
	expect(1, 0, 1);
}

TEST(cpus_that_are_not_there_hold_nothing)
{
	struct core_alloc_step s[] = {step(0, 1, false, "0-3,8-11")};

	cpu[3].there = cpu[11].there = cpu[8].there = false;
	assert_int_equal(core_alloc__count(&topo, s, 1, &out[0][0]), 0);
	expect(0, 3, 0);
	cpu[0].core = CORES;
	assert_int_equal(core_alloc__count(&topo, s, 1, &out[0][0]), -EINVAL);
	make(state);
	cpu[0].package = PACKAGES;
	assert_int_equal(core_alloc__count(&topo, s, 1, &out[0][0]), -EINVAL);
}

TEST(lists_are_read)
{
	uint64_t w[2] = {~0ULL, ~0ULL};

	assert_int_equal(cpulist__read("0-1,63-65,127", w, 128), 6);
	assert_true(w[0] == (1ULL << 63 | 3) && w[1] == (1ULL << 63 | 3));
	assert_int_equal(cpulist__read("", w, 128), 0);
	assert_true(!w[0] && !w[1]);
	assert_int_equal(cpulist__read("128", w, 128), -ERANGE);
	assert_int_equal(cpulist__read("0-65535", w, 128), -ERANGE);
	assert_int_equal(cpulist__read("3-1", w, 128), -EINVAL);
	assert_int_equal(cpulist__count("0-65535"), 65536);
	assert_int_equal(cpulist__count("65536"), -EINVAL);
}

static struct unit_fixture fixture = {.setup = make};
