// SPDX-License-Identifier: GPL-2.0-only
/* RAPL read by powercap: names, wraps, gaps, denials and odd files, on machines made of files. */

#include "tests/unit/unit.h"
#include "tests/unit/rapl.h"

TEST(zones_are_named_by_what_they_measure)
{
	struct source src = {};
	unsigned i;

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-1 dram-1 package-0 dram-0");
	i = find(&src, "dram-1");
	assert_int_equal(src.ch[i].part, PART_DRAM);
	assert_int_equal(src.ch[i].index, 1);
	assert_int_equal(src.ch[i].cpu, 2);
	assert_int_equal(src.ch[i].quantity, QUANTITY_ENERGY);
	assert_string_equal(src.ch[i].unit, "J");
	assert_true(fabs(src.ch[i].step - 15.3e-6) < 1e-8);
	i = find(&src, "package-0");
	assert_int_equal(src.ch[i].cpu, 0);
	assert_true(src.ch[i].error == 0.05);
	assert_true(fabs(src.ch[i].step - 1.0 / 16384) < 1e-9);
	read_after(&src, 1);
	assert_int_equal(src.err, 0);
	check(&src, "package-0", READING_GOOD, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 123456789);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 123.456789);
	check(&src, "package-1", READING_GOOD, 0);
	end(&src);
}

/* One count past its range is 0. */
TEST(counters_wrap_at_their_own_range)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0/energy_uj", 100000);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0:0/energy_uj", 7);
	read_after(&src, 1);
	check(&src, "package-1", READING_GOOD, 0.428851);
	check(&src, "dram-1", READING_GOOD, 0.999621);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:0/energy_uj", 300000);
	read_after(&src, 1);
	check(&src, "package-1", READING_GOOD, 0.628851);
	end(&src);
}

/* 180 s at 300 W may be more than 0.8 of 65713 J, at 600 W not of 262143 J. */
TEST(a_reading_too_late_is_a_gap)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 50000000);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1:0/energy_uj", 2000000000 + 50000000);
	read_after(&src, 180);
	check(&src, "package-0", READING_GOOD, 50);
	check(&src, "dram-0", READING_GAP, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1:0/energy_uj", 2000000000 + 51000000);
	read_after(&src, 170);
	check(&src, "dram-0", READING_GOOD, 1);
	read_after(&src, 350);
	check(&src, "package-0", READING_GAP, 50);
	end(&src);
}

TEST(a_counter_that_jumps_is_a_gap)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 0);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 2000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 0.001);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 5000000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 0.001);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 5600000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 600.001);
	/* Beyond its own range it is no value of this counter. */
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 262143328851);
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 600.001);
	assert_int_equal(src.err, 0);
	end(&src);
}

TEST(a_package_that_was_away_comes_back_as_a_gap)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	open_as(&src, &sensor_rapl);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 2000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 2);
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	check(&src, "package-1", READING_GOOD, 0);
	machine_remove(&src.m, POWERCAP "intel-rapl:1");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 3000000);
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "psys");
	read_after(&src, 1);
	check(&src, "package-0", READING_NONE, NAN);
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "package-0");
	read_after(&src, 1);
	check(&src, "package-0", READING_GAP, 2);
	machine_put_u64(&src.m, POWERCAP "intel-rapl:1/energy_uj", 1000000000 + 4000000);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 3);
	end(&src);
}

TEST(all_away_is_an_error)
{
	struct source src = {};

	machine_make(&src.m, "amd-2s");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 package-1");
	assert_true(src.ch[0].error == 0.10);
	machine_put(&src.m, POWERCAP "intel-rapl:0/energy_uj", "none");
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "-1");
	read_after(&src, 1);
	assert_int_equal(src.err, -ENODATA);
	check(&src, "package-1", READING_NONE, NAN);
	end(&src);
}

static void is_denied(struct machine *m)
{
	struct sensor *s = NULL;
	char why[256];

	assert_int_equal(sensor__probe(&sensor_rapl, &m->roots, why, sizeof(why)), -EACCES);
	assert_string_equal(why, "powercap: energy_uj: not permitted: run as root");
	assert_int_equal(sensor__open(&sensor_rapl, &s, &m->roots), -EACCES);
	assert_null(s);
}

static void one_is_denied(struct machine *m)
{
	struct sensor_value v[MAX];
	struct sensor *s;

	assert_int_equal(sensor__open(&sensor_rapl, &s, &m->roots), 0);
	assert_int_equal(sensor_rapl.read(s, v), 0);
	assert_int_equal(v[0].quality, READING_DENIED);
	assert_true(isnan(v[0].value));
	assert_int_equal(v[1].quality, READING_GOOD);
	sensor__close(&sensor_rapl, s);
}

TEST(what_may_not_be_read_says_so)
{
	struct source src = {};

	machine_make(&src.m, "amd-2s");
	forbid(&src.m, POWERCAP "intel-rapl:0/energy_uj");
	as_nobody(one_is_denied, &src.m);
	forbid(&src.m, POWERCAP "intel-rapl:1/energy_uj");
	as_nobody(is_denied, &src.m);
	end(&src);
}

TEST(parts_of_a_client)
{
	struct source src = {};

	machine_make(&src.m, "intel-client");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 cores-0 uncore-0 dram-0 psys");
	assert_int_equal(src.ch[4].part, PART_PLATFORM);
	assert_int_equal(src.ch[4].index, -1);
	assert_true(isnan(src.ch[4].error));
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "intel-client");
	machine_remove(&src.m, POWERCAP);
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 cores-0 uncore-0 psys");
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x64d, 0x8000 + 16384);
	read_after(&src, 1);
	check(&src, "psys", READING_GOOD, 1);
	end(&src);
}

TEST(dies_are_parts_of_their_own)
{
	struct source src = {};

	machine_make(&src.m, "intel-dies");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0-die-0 package-0-die-1 package-1-die-0 package-1-die-1 "
		       "dram-1-die-1");
	for (int i = 0; i < 4; i++) {
		assert_int_equal(src.ch[i].index, i);
		assert_int_equal(src.ch[i].cpu, i);
	}
	assert_int_equal(src.ch[4].index, 3);
	end(&src);
	/* The same where only the zones' names tell of dies. */
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "intel-dies");
	machine_remove(&src.m, "sys/devices");
	open_as(&src, &sensor_rapl);
	assert_int_equal(src.n, 5);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(src.ch[i].index, i);
		assert_int_equal(src.ch[i].cpu, -1);
	}
	end(&src);
}

TEST(odd_files_are_survived)
{
	static const char *const texts[] = {"",
					    "-1",
					    "0",
					    "99999999999999999999999",
					    "package-",
					    "x",
					    "package-1-die-",
					    "package-99999999999",
					    "package-0-die-999",
					    "18446744073709551615"};
	static const char *const files[] = {POWERCAP "intel-rapl:0/name",
					    POWERCAP "intel-rapl:0/energy_uj",
					    POWERCAP "intel-rapl:0/max_energy_range_uj",
					    POWERCAP "intel-rapl:0:0/name",
					    "sys/devices/system/cpu/cpu0/topology/die_id",
					    "sys/bus/event_source/devices/power/cpumask",
					    "sys/bus/event_source/devices/power/events/energy-pkg",
					    "sys/bus/event_source/devices/power/type"};
	struct sensor_value v[MAX];

	for (unsigned f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		struct source src = {};

		machine_make(&src.m, "intel-2s");
		for (unsigned t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
			struct sensor *s = NULL;

			machine_put(&src.m, files[f], texts[t]);
			fake_begin(f % 2 ? -ENODEV : 0);
			if (!sensor__open(&sensor_rapl, &s, &src.m.roots))
				sensor_rapl.read(s, v);
			sensor__close(&sensor_rapl, s);
			fake_end(kernel_open);
		}
		end(&src);
	}
}

/* Whatever the power and the times of reading: what is good is what was taken, to the count. */
TEST(nothing_is_guessed)
{
	uint64_t x = 88172645463325252ULL, truth = 0, time = S;
	struct rapl_counter c = {
		.unit = 1.0 / 65536, .range = 1ull << 32, .pmax_w = 600, .late_j = 65536};
	struct rapl_raw raw = {0, S, 0};
	unsigned good = 0, gaps = 0;

	rapl_counter__take(&c, &raw);
	for (int i = 0; i < 200000; i++) {
		double before = c.joules, dt, joules;
		struct sensor_value v;
		uint64_t counts;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		dt = (double)(x % 1000) / 1000 * (x >> 20 & 15 ? 2 : 400);
		joules = dt * (double)(x >> 32 & 511) * 1.17;
		counts = (uint64_t)(joules * 65536);
		truth += counts;
		time += (uint64_t)(dt * 1e9);
		raw = (struct rapl_raw){truth & UINT32_MAX, time, 0};
		v = rapl_counter__take(&c, &raw);
		if (v.quality == READING_GOOD) {
			good++;
			assert_true(fabs(c.joules - before - (double)counts / 65536) < 1e-6);
		} else {
			gaps++;
			assert_int_equal(v.quality, READING_GAP);
			assert_true(dt * 600 > 0.8 * 65536);
			assert_true(c.joules == before);
		}
	}
	assert_true(good > 150000 && gaps > 1000);
}

static struct unit_fixture fixture = {.setup_all = rapl_setup};
