// SPDX-License-Identifier: GPL-2.0-or-later
/* Sources of small files, on recorded trees: hwmon (Grace, amd_energy, an ACPI meter) and the
 * pm_counters of HPE/Cray. */

#include "tests/unit/unit.h"
#include "base/clock.h"
#include "sensor/core/file.h"
#include "sensor/sensors.h"
#include "tests/unit/machine.h"

TEST(grace)
{
	const struct sensor_channel *c;

	machine_on("grace", &sensor_hwmon);
	assert_int_equal(m.n, 4);
	expect("",
	       "power_meter Module Power Socket 0=612.345, power_meter Grace Power Socket "
	       "0=187.654, power_meter CPU Power Socket 0=98, power_meter SysIO Power Socket 0=41");
	parts_are("power_meter Module Power Socket 0=platform 0, power_meter Grace Power Socket "
		  "0=package 0, power_meter CPU Power Socket 0=cores 0, power_meter SysIO Power "
		  "Socket 0=uncore 0");
	c = channel_of("", "power_meter Grace Power Socket 0");
	assert_string_equal(c->unit, "W");
	assert_int_equal(c->quantity, QUANTITY_POWER);
	assert_int_equal(c->period_ns, 50000000);
	assert_float_equal(c->error, 0.05, 1e-9);
}

TEST(amd_energy)
{
	machine_on("amd-energy", &sensor_hwmon);
	assert_int_equal(m.n, 8); /* without the battery */
	parts_are("amd_energy Ecore003=core 3, amd_energy Ecore000=core 0, amd_energy "
		  "Esocket0=package 0, amd_energy Esocket1=package 1");
	expect("", "amd_energy Ecore003=0");
	/* The last one jumps back. */
	machine_puts("sys/class/hwmon/hwmon3/",
		     "energy4_input=1021500000|energy5_input=90250000000|energy6_input=5");
	reads("", "amd_energy Ecore003=0.5, amd_energy Ecore000=0, amd_energy Esocket0=250, "
		  "amd_energy Esocket1=gap 0");
	machine_put("sys/class/hwmon/hwmon3/energy6_input", "3000005");
	reads("", "amd_energy Esocket1=3");
}

TEST(gpus_of_hwmon_are_numbered)
{
	machine_on("amd-energy", &sensor_hwmon);
	parts_are("amdgpu PPT=gpu 0, amdgpu PPT #2=gpu 1");
	expect("", "amdgpu PPT=35, amdgpu PPT #2=41");
	for (unsigned i = 0, gpu = 0; i < m.n; i++)
		if (m.c[i].part == PART_GPU) {
			assert_int_equal(m.c[i].index, gpu);
			assert_float_equal(m.v[i].value, gpu ? 41 : 35, 1e-9);
			gpu++;
		}
}

TEST(one_acpi_meter_is_the_nodes)
{
	machine_on("acpi-meter", &sensor_hwmon);
	parts_are("power_meter power1=node");
	assert_int_equal(m.n, 1);
	expect("", "power_meter power1=342");
	assert_float_equal(channel_of("", "power_meter power1")->error, 0.015, 1e-9);
}

TEST(of_two_acpi_meters_none_is_the_nodes)
{
	machine_make("acpi-meter");
	machine_puts("sys/class/hwmon/hwmon1/", "name=power_meter|power1_average=9000000");
	machine_open(&sensor_hwmon);
	machine_read(0);
	assert_int_equal(m.n, 2);
	for (unsigned i = 0; i < m.n; i++)
		assert_int_equal(m.c[i].part, PART_OTHER);
}

TEST(a_driver_that_goes_and_comes_back)
{
	machine_on("amd-energy", &sensor_hwmon);
	machine_remove("sys/class/hwmon/hwmon3/energy5_input");
	reads("", "amd_energy Esocket0=none");
	machine_put("sys/class/hwmon/hwmon3/energy5_input", "99000000000");
	reads("", "amd_energy Esocket0=gap 0");
	machine_put("sys/class/hwmon/hwmon3/energy5_input", "99002000000");
	reads("", "amd_energy Esocket0=2");
}

TEST(what_is_no_number_is_no_value)
{
	static const char *const bad[] = {"",
					  "\n",
					  "-5\n",
					  "nan\n",
					  "1e9\n",
					  "12x\n",
					  " 5\n",
					  "18446744073709551616\n",
					  "11111111111111111111111111\n"};

	machine_on("acpi-meter", &sensor_hwmon);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_text(m.dir, "sys/class/hwmon/hwmon0/device/power1_average", bad[i]);
		machine_read(-ENODATA);
		expect("", "power_meter power1=none");
	}
}

TEST(files_that_may_not_be_read)
{
	machine_on("amd-energy", &sensor_hwmon);
	shell("chmod 0 %s/class/hwmon/hwmon3/energy[1-6]_input", m.sys);
	be_nobody(true);
	reads("", "amd_energy Esocket0=denied"); /* the GPUs' may */
	be_nobody(false);
	shell("chmod 0 %s/class/hwmon/*/power1_*", m.sys);
	be_nobody(true);
	machine_read(-EACCES);
	machine_probe(m.ops, -EACCES, "not permitted");
	be_nobody(false);
}

TEST(a_node_without_them)
{
	machine_make("");
	machine_lacks(&sensor_hwmon);
	machine_lacks(&sensor_pm_counters);
}

#define PM "sys/cray/pm_counters/"

TEST(blade)
{
	machine_on("cray", &sensor_pm_counters);
	assert_int_equal(m.n, 16);
	parts_are("node power=node, node energy=node, accel-3 power=gpu 3, cpu power=package, "
		  "cpu-0 temp=package 0, memory power=dram, accel-1 energy=gpu 1, memory "
		  "energy=dram, accel-2 power=gpu 2, accel-1 power=gpu 1");
	expect("", "node power=1432, node energy=0, accel-3 power=213, cpu power=311, cpu-0 "
		   "temp=47, memory power=95");
	assert_int_equal(channel_of("", "node energy")->period_ns, 100000000);
	machine_puts(PM, "energy=123457089 J 1603403113345678 us|accel1_energy=20000041 J "
			 "1603403113345678 us|freshness=4721");
	reads("", "node energy=300, accel-1 energy=40, memory energy=0");
}

TEST(a_scan_read_twice_is_said)
{
	machine_on("cray", &sensor_pm_counters);
	expect("", "node power=1432");
	reads("", "node power=repeated 1432, node energy=repeated 0");
	machine_put(PM "freshness", "4712");
	reads("", "node power=1432");
}

TEST(a_controller_that_starts_anew)
{
	machine_on("cray", &sensor_pm_counters);
	machine_puts(PM, "energy=123456799 J|freshness=4712");
	reads("", "node energy=10");
	/* larger, and no joule of it is ours */
	machine_puts(PM, "startup=1603400342999999|energy=200000000 J|freshness=3");
	reads("", "node energy=gap 10");
	machine_puts(PM, "energy=200000005 J|freshness=4");
	reads("", "node energy=15");
}

TEST(time_stamps_of_the_blade)
{
	uint64_t real = clock__real_ns(), boot = clock__boot_ns(), now;
	uint64_t is;
	char text[64];

	machine_on("cray", &sensor_pm_counters);
	snprintf(text, sizeof(text), "123456789 J %llu us\n", (unsigned long long)real / 1000);
	put_text(m.dir, PM "energy", text);
	machine_read(0);
	now = clock__boot_ns();
	/* as long ago as the wall clock says, or not believed */
	is = m.v[channel_of("", "node energy") - m.c].time_ns;
	assert_true(is + 2000 >= boot && is <= now);
	is = m.v[channel_of("", "node power") - m.c].time_ns; /* of the year 2020 */
	assert_true(is >= boot && is <= now);
}

TEST(an_accelerator_that_vanishes)
{
	machine_on("cray", &sensor_pm_counters);
	machine_remove(PM "accel2_power");
	machine_put(PM "freshness", "4712");
	reads("", "accel-2 power=none, accel-1 power=211");
}

static struct unit_fixture fixture = {.teardown = machine_end};
