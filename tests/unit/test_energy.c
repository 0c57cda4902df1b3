// SPDX-License-Identifier: GPL-2.0-or-later
/* Cases that can be computed by hand. */
#include "tests/unit/unit.h"

#include "energy/energy.h"

/* One package of 10 cores, 20 W when idle, and 10 s: 200 J of it. */
static struct energy_package package;
static struct energy_use use[4], none;
static struct energy_input in;
static struct energy_share share[4];
static struct energy_split out;
static double gpu[4];

static struct energy_use used(double run_s, double cycles, double alloc)
{
	return (struct energy_use){run_s, 0, cycles, NAN, alloc};
}

static int make(void **state)
{
	package = (struct energy_package){500, NAN, 20, NAN, 10, NAN, NAN};
	none = used(0, NAN, NAN);
	in = (struct energy_input){.seconds = 10,
				   .node = NAN,
				   .other_idle_w = NAN,
				   .npackages = 1,
				   .package = &package,
				   .nsteps = 2,
				   .use = use,
				   .system = &none};
	use[0] = used(20, 60e9, 4);
	use[1] = used(20, 60e9, 2);
	out = (struct energy_split){.step = share};
	return 0;
}

static void split(void)
{
	assert_int_equal(energy__split(&in, &out), 0);
	for (unsigned i = 0; i < in.nsteps; i++) {
		assert_true(share[i].low >= 0);
		assert_true(share[i].low <= share[i].total);
		assert_true(share[i].total <= share[i].high);
		near(share[i].total, share[i].fixed + share[i].dynamic);
	}
}

/* 200 J static: 80, 40, and 80 of nobody's; 300 J dynamic: half each. With R = 6 a half may be
 * from 300 / 7 to 300 * 6 / 7. */
TEST(equal_work_on_unequal_cores)
{
	split();
	near(share[0].fixed, 80);
	near(share[1].fixed, 40);
	near(out.unallocated, 80);
	near(share[0].dynamic, 150);
	near(share[1].dynamic, 150);
	near(out.system, 0);
	near(out.measured, 500);
	near(share[0].low, 80 + 300 / 7.0);
	near(share[0].high, 80 + 1800 / 7.0);
	assert_true(out.weight == WEIGHT_CYCLES && out.static_known && out.alloc_known);
	assert_true(!out.node_known && !out.clamped);
}

/* Twice the clock for the same time: twice the weight. */
TEST(cycles_are_what_counts)
{
	use[0].cycles = 40e9;
	use[1].cycles = 80e9;
	split();
	near(share[0].dynamic, 100);
	near(share[1].dynamic, 200);
}

/* Not known of one step: time for all, and wider bounds. */
TEST(without_cycles_by_time)
{
	use[0].cycles = NAN;
	use[1].run_s = 60;
	split();
	assert_true(out.weight == WEIGHT_RUN_TIME);
	near(share[0].dynamic, 75);
	near(share[1].dynamic, 225);
	near(share[0].low, 80 + 300 * 20 / (20 + 10 * 60.0));
	near(share[0].high, 80 + 300 * 20 / (20 + 60 / 10.0));
}

/* The system's cycles are taken at the mean clock of the steps. */
TEST(the_system_has_its_part)
{
	none.run_s = 10;
	split();
	near(out.system, 60);
	near(share[0].dynamic, 120);
	near(share[0].total + share[1].total + out.system + out.unallocated, 500);
}

/* 20 s beside a sibling weigh as 12. */
TEST(a_busy_sibling_counts)
{
	use[0].overlap_s = 20;
	split();
	near(share[0].dynamic, 300 * 12 / 32.0);
	near(share[1].dynamic, 300 * 20 / 32.0);
}

TEST(what_nobody_did_is_the_systems)
{
	use[0] = use[1] = used(0, 0, 1);
	split();
	near(out.system, 300);
	near(share[0].total, 20);
	near(out.unallocated, 160);
}

/* Less than the idle power: all of it is static. */
TEST(less_than_idle)
{
	package.pkg = 100;
	split();
	near(share[0].fixed, 40);
	near(share[0].dynamic, 0);
	near(out.unallocated, 40);
	near(share[0].low, share[0].high);
}

/* All is dynamic, but each may as well have what its cores would take. */
TEST(without_idle_power)
{
	package.pkg_idle_w = NAN;
	use[1].cycles = use[1].run_s = 0;
	split();
	assert_false(out.static_known);
	near(share[0].dynamic, 500);
	near(share[0].low, 200);
	near(share[0].high, 500);
	near(share[1].total, 0);
	near(share[1].high, 100);
	near(out.unallocated, 0);
}

/* It holds the two cores it kept busy, or all that nobody else has. */
TEST(without_allocation)
{
	use[0].alloc_cores = NAN;
	split();
	assert_false(out.alloc_known);
	near(share[0].fixed, 40);
	near(share[1].fixed, 40);
	near(out.unallocated, 120);
	near(share[0].low, 40 + 300 / 7.0);
	near(share[0].high, 160 + 1800 / 7.0);
	near(share[1].high, 40 + 1800 / 7.0);
}

TEST(more_cores_than_there_are)
{
	use[0].alloc_cores = 15;
	use[1].alloc_cores = 5;
	split();
	near(share[0].fixed, 150);
	near(share[1].fixed, 50);
	near(out.unallocated, 0);
}

/* 30 J idle by cores, 70 J by misses, 3 to 1. */
TEST(dram_by_misses)
{
	package.pkg = NAN;
	package.dram = 100;
	package.dram_idle_w = 3;
	use[0].misses = 3e9;
	use[1].misses = 1e9;
	split();
	near(out.measured, 100);
	near(share[0].total, 12 + 52.5);
	near(share[1].total, 6 + 17.5);
	near(share[1].low, 6 + 70 / 13.0);
	near(share[1].high, 6 + 70 * 4 / 7.0);
	use[1].misses = NAN;
	split(); /* by cycles, and that says nothing */
	near(share[1].total, 6 + 35);
	near(share[1].low, 6);
	near(share[1].high, 6 + 70);
}

/* 1000 J node: 500 package, 100 GPU, 400 other; of it 250 idle by cores, 150 by 150:150 (package)
 * and 100 (GPU of the first). */
TEST(the_rest_of_the_node)
{
	in.node = 1000;
	in.other_idle_w = 25;
	in.gpu = gpu;
	gpu[0] = 100;
	gpu[1] = NAN;
	split();
	assert_true(out.node_known);
	near(share[0].fixed, 80 + 100);
	near(share[0].dynamic, 150 + 100 + 150 * 250 / 400.0);
	near(share[1].total, 40 + 50 + 150 + 150 * 150 / 400.0);
	near(out.unallocated, 80 + 100);
	in.other_idle_w = NAN;
	split();
	near(share[0].fixed, 80 + 160);
	near(share[0].dynamic, 150 + 100);
}

TEST(gpus_of_nobody)
{
	in.gpu_unowned = 70;
	split();
	near(out.measured, 570);
	near(out.unallocated, 80 + 70);
}

TEST(parts_above_the_node)
{
	in.node = 450;
	in.node_error = 0.05;
	split();
	assert_true(out.clamped);
	near(out.measured, 500);
	near(share[0].total, 230);
}

/* All cores, nothing else ran: what the node's sensor is off by, whatever the parts' are. */
TEST(alone_on_a_node)
{
	in.nsteps = 1;
	use[0].alloc_cores = 10;
	in.node = 1000;
	in.node_error = 0.03;
	in.pkg_error = 0.1;
	in.pkg_step = 1;
	split();
	near(share[0].total, 1000);
	near(share[0].low, 1000 / 1.03);
	near(share[0].high, 1000 / 0.97);
	in.other_idle_w = 25;
	split();
	near(share[0].low, 1000 / 1.03);
	near(share[0].high, 1000 / 0.97);
	in.node = NAN;
	in.pkg_step = 0.25;
	in.pkg_edge_s = 0.001;
	split(); /* 10 % of it, and 250 mJ + 50 W for 1 ms at both ends */
	near(share[0].total, 500);
	near(share[0].high, 500 + hypot(500 / 0.9 - 500, sqrt(2) * 0.3));
	near(share[0].low, 500 - hypot(500 - 500 / 1.1, sqrt(2) * 0.3));
}

/* Two packages of one step each, 400 and 100 J dynamic of 500 J other: what the first package has
 * too much, it has too much by, less what of that is then not in its part of the rest. */
TEST(errors_of_two_packages)
{
	struct energy_package two[2] = {package, package};
	struct energy_use u[2][2] = {{used(20, 60e9, 10), used(0, 0, 0)},
				     {used(0, 0, 0), used(20, 60e9, 10)}};
	struct energy_use nothing[2] = {none, none};

	two[0].pkg = 600;
	two[1].pkg = 300;
	in.package = two;
	in.npackages = 2;
	in.use = u[0];
	in.system = nothing;
	in.node = 1400;
	in.other_idle_w = 40;
	in.pkg_error = 0.1;
	split();
	/* 200 static, 400 dynamic, 200 of 400 idle, 80 of 100 that follow the load */
	near(share[0].total, 880);
	near(share[1].total, 520);
	/* +: 600 - (100 + 0.8 * 400) of the first, 0.8 * 100 + 100 less of the second */
	near(share[0].high, 880 + 180 * 0.1 / 0.9 + 180 * 0.1 / 1.1);
}

TEST(powers_that_were_seen_narrow)
{
	package.pmin_w = 6;
	package.pmax_w = 9;
	split();
	near(share[0].low, 80 + 120);
	near(share[0].high, 80 + 180);
	use[1].cycles = 120e9;
	split(); /* clocks of 2/3 and 4/3 of the mean */
	near(share[0].low, 80 + 6 * 20 * 4 / 9.0);
	near(share[1].high, 40 + 300 - 6 * 20 * 4 / 9.0);
	near(share[1].dynamic, 200);
	use[1].cycles = 60e9;
	use[1].overlap_s = 20; /* 10 s of a core: 110 J at most, by weight 112.5 */
	package.pmax_w = 11;
	split();
	near(share[1].dynamic, 110);
	near(share[0].dynamic, 190);
	use[1].overlap_s = 0;
	package.pmin_w = 8; /* 320 J at least: that was not so, and is not used */
	split();
	near(share[0].low, 80 + 300 / 7.0);
}

TEST(three_of_which_one_is_bounded)
{
	in.nsteps = 3;
	for (unsigned i = 0; i < 3; i++)
		use[i] = used(i == 2 ? 40 : 20, NAN, 1);
	use[2].overlap_s = 40;
	package.pmin_w = 1;
	package.pmax_w = 5.5; /* weights 20, 20, 24 for 20 s of a core each: 112.5 J are too many */
	split();
	near(share[2].dynamic, 110);
	near(share[0].dynamic, 95);
	near(share[1].dynamic, 95);
}

TEST(what_is_refused)
{
	static const double bad[] = {-1, INFINITY};

	for (unsigned i = 0; i < 2; i++) {
		double *fields[] = {&package.pkg,    &package.pkg_idle_w, &use[1].run_s,
				    &in.node,	     &use[0].cycles,	  &in.pkg_error,
				    &in.gpu_unowned, &in.seconds};

		for (unsigned j = 0; j < sizeof(fields) / sizeof(fields[0]); j++) {
			double was = *fields[j];

			*fields[j] = bad[i];
			assert_int_equal(energy__split(&in, &out), -EINVAL);
			*fields[j] = was;
		}
	}
	use[0].run_s = NAN;
	assert_int_equal(energy__split(&in, &out), -EINVAL);
	use[0].run_s = 1;
	in.seconds = 0;
	assert_int_equal(energy__split(&in, &out), -EINVAL);
	in.seconds = 1;
	package.pkg = NAN;
	assert_int_equal(energy__split(&in, &out), -ENODATA);
	in.node = 0;
	assert_int_equal(energy__split(&in, &out), 0);
	package.cores = 0;
	assert_int_equal(energy__split(&in, &out), -EINVAL);
}

/* The first holds 4 of 10 cores and did half: a tenth of 3 % of 200 J. */
TEST(idle_power_is_not_quite_known)
{
	in.idle_error = 0.03;
	split();
	near(share[0].low, 80 + 300 / 7.0 - 0.6);
	near(share[0].high, 80 + 1800 / 7.0 + 0.6);
}

/* A node that only its BMC measures: idle power by cores, the rest by what they did. */
TEST(only_the_node_is_measured)
{
	package.pkg = NAN;
	in.node = 1000;
	in.other_idle_w = 60;
	split();
	near(share[0].fixed, 240);
	near(share[0].dynamic, 200);
	near(share[0].low, 240 + 400 / 7.0);
	near(share[0].high, 240 + 2400 / 7.0);
	in.other_idle_w = NAN;
	split();
	near(share[0].total, 400);
	near(share[1].total, 200);
	near(share[1].high, 6000 / 7.0);
}

TEST(no_steps)
{
	in.nsteps = 0;
	in.use = NULL;
	split();
	near(out.system, 300);
	near(out.unallocated, 200);
}

static uint64_t state_of_dice = 88172645463325252ULL;

static double dice(double most)
{
	state_of_dice ^= state_of_dice << 13;
	state_of_dice ^= state_of_dice >> 7;
	state_of_dice ^= state_of_dice << 17;
	return most * (double)(state_of_dice >> 11) / 9007199254740992.0;
}

/* Often 0, often not known. */
static double any(double most)
{
	double d = dice(1);

	return d < 0.15 ? 0 : d < 0.3 ? NAN : dice(most);
}

static double known(double x)
{
	return isnan(x) ? 0 : x;
}

static struct energy_use any_use(void)
{
	double run = known(any(30));

	return (struct energy_use){run, any(30), any(90e9), any(1e9), any(6)};
}

static void any_input(struct energy_package *packages, struct energy_use (*uses)[3])
{
	for (unsigned p = 0; p < 3; p++) {
		packages[p] = (struct energy_package){any(500), any(100), any(30), any(10),
						      10,	any(3),	  any(20)};
		for (unsigned k = 0; k < 5; k++)
			uses[k][p] = any_use();
	}
	for (unsigned k = 0; k < 4; k++)
		gpu[k] = any(200);
	in = (struct energy_input){.seconds = 10,
				   .node = any(3000),
				   .node_error = dice(0.2),
				   .node_off = dice(20),
				   .pkg_error = dice(0.2),
				   .gpu_error = dice(0.2),
				   .pkg_step = dice(0.1),
				   .pkg_edge_s = dice(0.01),
				   .other_idle_w = any(100),
				   .npackages = 3,
				   .package = packages,
				   .nsteps = (unsigned)dice(5),
				   .use = uses[0],
				   .system = uses[4],
				   .gpu = gpu,
				   .gpu_unowned = known(any(50))};
}

/* Of anything: it adds up, and bounds are around it. */
TEST(whatever_comes)
{
	struct energy_package packages[3];
	struct energy_use uses[5][3];
	unsigned splits = 0;

	for (unsigned i = 0; i < 50000; i++) {
		double sum;

		any_input(packages, uses);
		if (energy__split(&in, &out))
			continue;
		splits++;
		sum = out.system + out.unallocated;
		assert_true(out.system >= 0 && out.unallocated >= 0);
		for (unsigned k = 0; k < in.nsteps; k++) {
			sum += share[k].total;
			assert_true(share[k].low >= 0 && share[k].low <= share[k].total);
			assert_true(share[k].high >= share[k].total && isfinite(share[k].high));
			assert_true(share[k].fixed >= 0 && share[k].dynamic >= 0);
		}
		near(sum, out.measured);
		if (out.node_known && !out.clamped)
			near(out.measured, in.node);
	}
	assert_true(splits > 45000);
}

static struct unit_fixture fixture = {.setup = make};
