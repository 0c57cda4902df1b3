// SPDX-License-Identifier: GPL-2.0-only
/* RAPL read by registers of Intel and AMD, and what models of processors are known for. */

#include "tests/unit/unit.h"
#include "tests/unit/rapl.h"

/* Kernels that take a die for a package name one's counter several times. */
TEST(dies_of_amd_are_one_package)
{
	struct source src = {};
	char why[256];

	machine_make(&src.m, "amd-cores");
	fake_begin(0);
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why)), 0);
	assert_string_equal(why, "perf events: 1 package");
	fake_end(kernel_open);
	machine_put(&src.m, POWERCAP "intel-rapl:0/name", "package-0-die-0");
	machine_put(&src.m, POWERCAP "intel-rapl:1/name", "package-0-die-1");
	machine_put(&src.m, POWERCAP "intel-rapl:1/energy_uj", "3000000");
	machine_put(&src.m, POWERCAP "intel-rapl:1/max_energy_range_uj", "65532610987");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0");
	assert_int_equal(src.ch[0].cpu, 0);
	end(&src);
}

TEST(registers_of_intel)
{
	struct source src = {};

	machine_make(&src.m, "intel-2s");
	machine_remove(&src.m, POWERCAP);
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 package-1 dram-1");
	assert_true(src.ch[0].step == 1.0 / 16384);
	assert_true(src.ch[1].step == 1.0 / 65536);
	assert_int_equal(src.ch[2].cpu, 2);
	/* The upper half of the register means nothing. */
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x611, 0xdead000010000000 + 16384);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x619, 0x20000000 + 65536);
	machine_put_msr(&src.m, "dev/cpu/2/msr", 0x611, 0x10);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	check(&src, "dram-0", READING_GOOD, 1);
	check(&src, "package-1", READING_GOOD, 32.0 / 16384);
	check(&src, "dram-1", READING_GOOD, 0);
	end(&src);
}

TEST(registers_of_amd)
{
	struct source src = {};

	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0");
	assert_true(src.ch[0].step == 1.0 / 65536);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0xc001029b, 0x80000 + 65536);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl_cores);
	is_named(&src, "core-0 core-1");
	machine_put_msr(&src.m, "dev/cpu/1/msr", 0xc001029a, 0x2000 + 32768);
	read_after(&src, 1);
	check(&src, "core-0", READING_GOOD, 0);
	check(&src, "core-1", READING_GOOD, 0.5);
	end(&src);
}

TEST(another_cpu_of_the_package_takes_over)
{
	struct source src = {};
	char full[128];

	machine_make(&src.m, "amd-cores");
	machine_remove(&src.m, "sys/class");
	machine_remove(&src.m, "sys/bus");
	open_as(&src, &sensor_rapl);
	snprintf(full, sizeof(full), "%s/dev/cpu/0/msr", src.m.dir);
	assert_int_equal(truncate(full, 0), 0);
	machine_remove(&src.m, "dev/cpu/0");
	machine_put_msr(&src.m, "dev/cpu/1/msr", 0xc001029b, 0x80000 + 65536);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
}

TEST(units_of_models)
{
	struct source src = {};

	machine_make(&src.m, "intel-spr");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 dram-0 psys");
	assert_true(src.ch[1].step == 1.0 / 16384);
	assert_true(src.ch[2].step == 1);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x64d, 107);
	read_after(&src, 1);
	check(&src, "psys", READING_GOOD, 100);
	end(&src);
	memset(&src, 0, sizeof(src));
	machine_make(&src.m, "atom");
	open_as(&src, &sensor_rapl);
	is_named(&src, "package-0 cores-0");
	assert_true(src.ch[0].step == 32e-6);
	machine_put_msr(&src.m, "dev/cpu/0/msr", 0x611, 0x4000 + 31250);
	read_after(&src, 1);
	check(&src, "package-0", READING_GOOD, 1);
	end(&src);
}

TEST(a_virtual_machine_has_none)
{
	struct source src = {};
	struct sensor *s = NULL;
	char why[512];

	machine_make(&src.m, "vm");
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "the PMU \"power\" has no events of energy"));
	assert_non_null(strstr(why, "msr: the registers read 0 or do not exist"));
	assert_int_equal(sensor__open(&sensor_rapl, &s, &src.m.roots), -ENOENT);
	machine_remove(&src.m, "");
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, sizeof(why)), -ENOENT);
	assert_int_equal(sensor__probe(&sensor_rapl_cores, &src.m.roots, why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(sensor__probe(&sensor_rapl, &src.m.roots, why, 8), -ENOENT);
	assert_int_equal(strlen(why), 7);
}

static struct unit_fixture fixture = {.setup_all = rapl_setup};
